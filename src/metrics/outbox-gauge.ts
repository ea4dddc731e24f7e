import { createMeasurement, type Measurement } from './measurement.ts'

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

export type OutboxGauge = Measurement<OutboxState>

/** The state of the outbox and of the audit trail. */
export function createOutboxGauge(measure: MeasureOutbox, now: () => number): OutboxGauge {
  return createMeasurement(() => measure(now(), now() - COUNTED_AFTER_MS), now)
}
