import { createMeasurement } from './measurement.ts'
import type { Registry } from './registry.ts'

/** The attempts of this process, by outcome. */
export type WebhookAttempts = Readonly<Record<'delivered' | 'retried' | 'failed', number>>

export type WebhookState = {
  readonly pending: number
  readonly failed: number
  readonly oldestAt: number | undefined
  readonly stoppedAt: number | undefined
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
