import type { Registry } from './registry.ts'

const FRESH_FOR_MS = 5000

type Gauges<State> = Readonly<Record<string, readonly [help: string, read: (state: State) => number]>>

/**
 * Adds gauges of a state of the database. Returns a function that reads it before a scrape, every few seconds at most. The gauges have no
 * value while the database is unavailable.
 */
function addMeasured<State extends object>(
  registry: Registry,
  gauges: Gauges<State>,
  measure: () => Promise<State>,
  now: () => number,
): () => Promise<void> {
  let state: State | undefined
  let measuredAtMs = Number.NEGATIVE_INFINITY
  // All processes measure the same database.
  for (const [name, [help, read]] of Object.entries(gauges)) registry.gauge(name, help, () => state && read(state), 'max')
  return async () => {
    if (now() - measuredAtMs < FRESH_FOR_MS) return
    measuredAtMs = now()
    state = await measure().catch(() => undefined)
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

const DURING_OUTAGE = 'During an outage of the mail server or the database'
const OUTBOX: Gauges<OutboxState> = {
  outbox_depth: [`${DURING_OUTAGE}: mails waiting for more than a minute.`, ({ depth }) => depth],
  outbox_oldest_age_seconds: [
    `${DURING_OUTAGE}: age of the oldest mail waiting for more than a minute.`,
    ({ oldestAgeSeconds }) => oldestAgeSeconds,
  ],
  audit_seal_lag_seconds: [
    'Age of the oldest event of the audit trail that is not sealed after more than a minute.',
    ({ sealLagSeconds }) => sealLagSeconds,
  ],
}

/** Adds the state of the outbox and of the audit trail. Returns a function that reads it before a scrape. */
export function addOutboxMetrics(registry: Registry, measure: MeasureOutbox, now: () => number): () => Promise<void> {
  return addMeasured(registry, OUTBOX, () => measure(now(), now() - COUNTED_AFTER_MS), now)
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

/** Adds the metrics of webhooks. Returns a function that reads them before a scrape. */
export function addWebhookMetrics(registry: Registry, { attempts, measure }: WebhookSources, now: () => number): () => Promise<void> {
  const deliveries = registry.counter('webhook_deliveries_total', 'Attempts to deliver a webhook, by outcome.', ['outcome'])
  const copyAttempts = () => {
    for (const [outcome, count] of Object.entries(attempts())) deliveries(outcome).value = count
  }
  copyAttempts()
  const ageSeconds = (at: number | undefined) => (at === undefined ? 0 : Math.max(now() - at, 0) / 1000)
  const gauges: Gauges<WebhookState> = {
    webhooks_pending: ['Webhooks that wait for delivery.', ({ pending }) => pending],
    webhooks_failed: ['Webhooks that were given up, and are kept.', ({ failed }) => failed],
    webhooks_oldest_age_seconds: ['Age of the oldest webhook that waits for delivery.', ({ oldestAt }) => ageSeconds(oldestAt)],
    webhooks_stopped: ['1 if the receiver answered 410, and nothing is sent to it.', ({ stoppedAt }) => (stoppedAt === undefined ? 0 : 1)],
  }
  const refresh = addMeasured(registry, gauges, measure, now)
  return async () => {
    copyAttempts()
    await refresh()
  }
}
