import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Claim } from '../storage/leased-rows.ts'

/** What remains to be saved after an attempt. It may be called again when it fails. */
export type Outcome = () => Promise<void>

/** How the entries of one outbox are claimed and delivered. An entry carries the lease that it was claimed with. */
export type Delivery<Entry extends { readonly id: number }> = {
  claim(claim: Claim): Promise<Entry[]>
  renew(entry: Entry, leaseEndsAt: number): Promise<void>
  /** Makes an entry due at once, for any process. */
  release(entry: Entry): Promise<void>
  /** Never throws: an error is an outcome too. */
  attempt(entry: Entry): Promise<Outcome>
  /** Removes or puts aside a batch of entries that need no attempt now. Called before each claim. True when there may be more. */
  prune(): Promise<boolean>
  /** Aborts the attempts in progress. */
  close(): Promise<void>
}

type DeliveriesOptions = {
  readonly now: () => number
  readonly logger: Pick<Logger, 'warn'>
  readonly renewalMs: number
  /** Entries that were claimed and not tried are released after the abort. */
  readonly stopping: AbortSignal
}

const SAVE_TRIES = 8
const SAVE_PAUSE_MS = 1_000

/** The entries that are being delivered. */
export function createDeliveries<Entry extends { readonly id: number }>(
  delivery: Pick<Delivery<Entry>, 'renew' | 'release' | 'attempt'>,
  { now, logger, renewalMs, stopping }: DeliveriesOptions,
): { readonly inProgress: ReadonlySet<Promise<void>>; launch(entry: Entry): void } {
  /** One promise for each. They never reject. */
  const inProgress = new Set<Promise<void>>()

  async function deliver(entry: Entry): Promise<void> {
    if (stopping.aborted) return save(entry, () => delivery.release(entry))
    await save(entry, await delivery.attempt(entry))
  }

  /** Tries for a while: an entry that was delivered and stays in the outbox would be delivered twice. */
  async function save({ id }: Entry, outcome: Outcome): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await outcome()
      } catch (error) {
        if (tries < SAVE_TRIES && !stopping.aborted) await pause(SAVE_PAUSE_MS)
        else return logger.warn({ err: error, outboxId: id }, 'the outcome of a delivery could not be saved; it may be delivered twice')
      }
    }
  }

  /** Ends early when the dispatcher stops. */
  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: stopping }).catch(() => undefined)
  }

  return {
    inProgress,
    launch(entry) {
      const renew = () => delivery.renew(entry, now() + LEASE_MS)
      const delivered = whileLeased(renew, renewalMs, () => deliver(entry)).finally(() => inProgress.delete(delivered))
      inProgress.add(delivered)
    },
  }
}

/** After a crash an entry waits for the end of its lease and for the next poll: 16 seconds at most. */
export const LEASE_MS = 12_000
/** Two renewals in a row may fail without loss: the third comes before the lease ends. */
export const RENEWAL_MS = 3_000

/** Renews a lease for as long as the work takes, so that a short lease does not make a slow delivery happen twice. */
async function whileLeased(renew: () => Promise<void>, renewalMs: number, work: () => Promise<void>): Promise<void> {
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
