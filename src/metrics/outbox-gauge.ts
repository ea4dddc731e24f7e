import type { Database } from '../storage/database.ts'
import { measureOutbox } from '../storage/repositories/outbox.repository.ts'

const FRESH_FOR_MS = 5000
// Mail to an address without an account leaves the outbox a little sooner. Whoever looks within this time sees neither.
const LATE_AFTER_MS = 60_000

type OutboxState = { readonly depth: number; readonly oldestAgeSeconds: number }

export type OutboxGauge = { read(): OutboxState | undefined; refresh(): Promise<void> }

/** The state of the outbox, looked at once in a while however often somebody asks. Unknown while the database is away. */
export function createOutboxGauge(db: Database, now: () => number): OutboxGauge {
  let state: OutboxState | undefined
  let lookedAtMs = Number.NEGATIVE_INFINITY
  return {
    read: () => state,
    async refresh() {
      if (now() - lookedAtMs < FRESH_FOR_MS) return
      lookedAtMs = now()
      state = await measureOutbox(db, now(), now() - LATE_AFTER_MS).catch(() => undefined)
    },
  }
}
