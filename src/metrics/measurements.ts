import type { Registry } from './registry.ts'

/** A state of the database, read every few seconds at most, however often it is scraped. Undefined while the database is unavailable. */
type Measurement<State> = { read(): State | undefined; refresh(): Promise<void> }

const FRESH_FOR_MS = 5000

function createMeasurement<State>(measure: () => Promise<State>, now: () => number): Measurement<State> {
  let state: State | undefined
  let measuredAtMs = Number.NEGATIVE_INFINITY
  return {
    read: () => state,
    async refresh() {
      if (now() - measuredAtMs < FRESH_FOR_MS) return
      measuredAtMs = now()
      state = await measure().catch(() => undefined)
    },
  }
}

// A mail to an address without an account leaves the outbox a little sooner than others, and a failed login without an account leaves no
// event. Neither is counted within this time.
const COUNTED_AFTER_MS = 60_000

type OutboxState = {
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

/** The attempts of this process, by outcome. */
export type WebhookAttempts = Readonly<Record<'delivered' | 'retried' | 'failed', number>>

type WebhookState = {
  readonly pending: number
  readonly failed: number
  readonly oldestAt?: number | undefined
  readonly stoppedAt?: number | undefined
}

export type WebhookSources = {
  readonly attempts: () => WebhookAttempts
  readonly measure: () => Promise<WebhookState>
}

export const NO_WEBHOOKS: WebhookSources = {
  attempts: () => ({ delivered: 0, retried: 0, failed: 0 }),
  measure: async () => ({ pending: 0, failed: 0, oldestAt: undefined, stoppedAt: undefined }),
}

/** Adds the metrics of webhooks. Returns a function that reads them, every few seconds at most, before a scrape. */
export function addWebhookMetrics(
  registry: Registry,
  namespace: string,
  { attempts, measure }: WebhookSources,
  now: () => number,
): () => Promise<void> {
  const webhooks = createMeasurement(measure, now)
  const deliveries = registry.counter(`${namespace}_webhook_deliveries_total`, 'Attempts to deliver a webhook, by outcome.', ['outcome'])
  const copyAttempts = () => {
    for (const [outcome, count] of Object.entries(attempts())) deliveries(outcome).value = count
  }
  copyAttempts()
  // All processes measure the same database.
  const gauge = (name: string, help: string, read: (state: WebhookState) => number) =>
    registry.gauge(
      `${namespace}_${name}`,
      help,
      () => {
        const state = webhooks.read()
        return state && read(state)
      },
      'max',
    )
  gauge('webhooks_pending', 'Webhooks that wait for delivery.', ({ pending }) => pending)
  gauge('webhooks_failed', 'Webhooks that were given up, and are kept.', ({ failed }) => failed)
  gauge('webhooks_oldest_age_seconds', 'Age of the oldest webhook that waits for delivery.', ({ oldestAt }) =>
    oldestAt === undefined ? 0 : Math.max(now() - oldestAt, 0) / 1000,
  )
  gauge('webhooks_stopped', '1 if the receiver answered 410, and nothing is sent to it.', ({ stoppedAt }) =>
    stoppedAt === undefined ? 0 : 1,
  )
  return async () => {
    copyAttempts()
    await webhooks.refresh()
  }
}
