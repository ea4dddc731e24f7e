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
