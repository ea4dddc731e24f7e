const FRESH_FOR_MS = 5000
// A mail to an address without an account leaves the outbox a little sooner than others, and a failed login without an account leaves no
// event. Neither is counted within this time.
const COUNTED_AFTER_MS = 60_000

export type OutboxState = {
  readonly depth: number
  readonly oldestAgeSeconds: number
  /** The age of the oldest event that should have been sealed by now. */
  readonly sealLagSeconds: number
}

/** Measures the mails and the events that wait since before a moment. */
export type MeasureOutbox = (now: number, before: number) => Promise<OutboxState>

export type OutboxGauge = { read(): OutboxState | undefined; refresh(): Promise<void> }

/** The state of the outbox and of the audit trail, measured every few seconds at most, however often it is scraped. Unknown while the database is unavailable. */
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
