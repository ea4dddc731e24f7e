import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Claim } from '../storage/leased-rows.ts'

/** After a crash an entry waits for the end of its lease and for the next poll: 16 seconds at most. */
export const LEASE_MS = 12_000
/** Two renewals in a row may fail without loss: the third comes before the lease ends. */
export const RENEWAL_MS = 3_000

/** Renews a lease for as long as the work takes, so that a short lease does not make a slow delivery happen twice. */
export async function whileLeased(renew: () => Promise<void>, renewalMs: number, work: () => Promise<void>): Promise<void> {
  // A renewal that fails is repeated with the next one.
  const timer = setInterval(() => void renew().catch(() => undefined), renewalMs).unref()
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
}

/**
 * Returns the function that claims entries, at most as many as given. During an outage of the database there are none, and the outage is
 * reported once.
 */
export function createClaims<Entry>(
  claim: (claim: Claim) => Promise<Entry[]>,
  { now, logger }: { readonly now: () => number; readonly logger: Pick<Logger, 'warn'> },
): (limit: number) => Promise<Entry[]> {
  let isDatabaseAway = false
  let takesOverAt = Number.NEGATIVE_INFINITY

  return async (limit) => {
    if (limit === 0) return []
    try {
      const takesOver = !isDatabaseAway && now() >= takesOverAt
      const entries = await claim({ lease: randomUUID(), leaseEndsAt: now() + LEASE_MS, now: now(), limit, takesOver })
      // Nobody could renew a lease during the outage: the owners have the time of one lease to do so now.
      if (isDatabaseAway) takesOverAt = now() + LEASE_MS
      isDatabaseAway = false
      return entries
    } catch (error) {
      if (!isDatabaseAway) logger.warn({ err: error }, 'the outbox cannot be read; its entries wait')
      isDatabaseAway = true
      return []
    }
  }
}
