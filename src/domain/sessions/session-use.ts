import type { Database } from '../../storage/database.ts'
import { recordSessionUse } from '../../storage/repositories/sessions/session.repository.ts'

export type SessionUse = ReturnType<typeof createSessionUse>

// Both delays together are less than the five minutes by which `last_seen_at` may be out of date.
const NOTE_INTERVAL_MS = 4 * 60_000
const FLUSH_DELAY_MS = 30_000
const BATCH_SIZE = 20
const MAX_REMEMBERED = 100_000

/**
 * Records when sessions were last used, in batches outside of any request. Each process remembers when it last recorded a session, so
 * an authenticated request costs one map lookup.
 */
export function createSessionUse(db: Database, now: () => number) {
  const notedAt = new Map<string, number>()
  const pending = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined

  function schedule(): void {
    // The next attempt does what is left, and requests that need the database report an outage.
    timer ??= setTimeout(() => void flush().catch(() => undefined), FLUSH_DELAY_MS).unref()
  }

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const uses = [...pending]
    pending.clear()
    try {
      for (let start = 0; start < uses.length; start += BATCH_SIZE) {
        const batch = uses.slice(start, start + BATCH_SIZE)
        // One statement each: several rows locked by one transaction could deadlock with a process that sees them in another order.
        await Promise.all(batch.map(([sessionId, seenAt]) => recordSessionUse(db, sessionId, seenAt)))
      }
    } catch (error) {
      // To record a use twice does no harm.
      for (const [sessionId, seenAt] of uses) if (!pending.has(sessionId)) pending.set(sessionId, seenAt)
      schedule()
      throw error
    }
  }

  return {
    /** Remembers that a session was used. Returns at once. */
    note(sessionId: string): void {
      const seenAt = now()
      if (seenAt - (notedAt.get(sessionId) ?? 0) < NOTE_INTERVAL_MS) return
      if (notedAt.size >= MAX_REMEMBERED) notedAt.clear()
      notedAt.set(sessionId, seenAt)
      pending.set(sessionId, seenAt)
      schedule()
    },
    /** Writes the remembered uses to the database. If this fails, it is tried again later. */
    flush,
  }
}
