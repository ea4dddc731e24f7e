import type { Origin } from '../../model/caller.ts'
import type { Changes } from '../changes/changes.ts'

type FailureKind = 'login.failed' | 'factor.failed'
type Failures = { readonly userId: number; readonly kind: FailureKind; count: number; origin: Origin; writtenAt: number | undefined }

const WINDOW_MS = 10 * 60_000
// Fixed, and not counted from the attempt: what a client could measure does not depend on whether the account exists.
const FLUSH_INTERVAL_MS = 5000
const MAX_ACCOUNTS = 100_000

/**
 * Counts failed logins in memory and writes them outside of any request: the first ones of an account soon, further ones together after
 * ten minutes. So an account that is attacked without a break has one event in ten minutes from each process.
 */
export function createFailedLogins(changes: Pick<Changes, 'withoutCaller'>, now: () => number) {
  const accounts = new Map<string, Failures>()
  let timer: NodeJS.Timeout | undefined

  async function write(failures: Failures): Promise<void> {
    const { userId, kind, count, writtenAt } = failures
    const { via, ip } = failures.origin
    // Taken before the write: what fails meanwhile counts for the next event.
    failures.count = 0
    failures.writtenAt = now()
    try {
      await changes.withoutCaller({ via, ip }, async (tx) => tx.record({ kind, target: userId, count }))
    } catch (error) {
      failures.count += count
      failures.writtenAt = writtenAt
      throw error
    }
  }

  /** Writes the events that are due; all that were counted if `isLast`. */
  async function flush({ isLast } = { isLast: false }): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    for (const [name, failures] of accounts) {
      const isDue = isLast || failures.writtenAt === undefined || now() - failures.writtenAt >= WINDOW_MS
      if (isDue && failures.count > 0) await write(failures)
      else if (isDue) accounts.delete(name)
    }
    if (accounts.size > 0 && !isLast) schedule()
  }

  function schedule(): void {
    // What could not be written is counted on, and requests that need the database report an outage.
    timer ??= setTimeout(() => void flush().catch(schedule), FLUSH_INTERVAL_MS).unref()
  }

  return {
    /** Counts a failed login of an account, or a wrong second factor. Returns at once. */
    note(userId: number, origin: Origin, kind: FailureKind = 'login.failed'): void {
      const name = `${kind} ${userId}`
      if (!accounts.has(name) && accounts.size >= MAX_ACCOUNTS) return
      const failures = accounts.get(name) ?? { userId, kind, count: 0, origin, writtenAt: undefined }
      failures.count++
      failures.origin = origin
      accounts.set(name, failures)
      schedule()
    },
    flush,
  }
}
