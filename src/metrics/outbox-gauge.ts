const FRESH_FOR_MS = 5000
// A mail to an address without an account leaves the outbox a little sooner than others. Neither is counted within this time.
const COUNTED_AFTER_MS = 60_000

export type OutboxState = { readonly depth: number; readonly oldestAgeSeconds: number }

/** Measures the mails that wait and were requested before a moment. */
export type MeasureOutbox = (now: number, before: number) => Promise<OutboxState>

export type OutboxGauge = { read(): OutboxState | undefined; refresh(): Promise<void> }

/** The state of the outbox, measured every few seconds at most, however often it is scraped. Unknown while the database is unavailable. */
export function createOutboxGauge(measure: MeasureOutbox, now: () => number): OutboxGauge {
  let state: OutboxState | undefined
  let measuredAtMs = Number.NEGATIVE_INFINITY
  return {
    read: () => state,
    async refresh() {
      if (now() - measuredAtMs < FRESH_FOR_MS) return
      measuredAtMs = now()
      state = await measure(now(), now() - COUNTED_AFTER_MS).catch(() => undefined)
    },
  }
}
