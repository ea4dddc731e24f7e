import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Passwords } from '../security/password.ts'
import type { Counters } from './counters.ts'
import { addWebhookMetrics, createOutboxGauge, type MeasureOutbox, type OutboxGauge, type WebhookSources } from './measurements.ts'
import { createRegistry, exposition, type Registry, type Snapshot } from './registry.ts'

const LAG_RESOLUTION_MS = 20
// The metrics are public, and a mail takes some milliseconds of processor time, which an address without an account does not cause:
// processor time is not shown at all, and the lag of the event loop is rounded to steps wider than that.
const LAG_STEP_MS = 10

/** Adds the metrics that an operator monitors besides requests. */
function addOperationMetrics(
  registry: Registry,
  namespace: string,
  { passwords, databaseErrors }: MetricsSources,
  outbox: OutboxGauge,
): void {
  registry.gauge(`${namespace}_password_queue_length`, 'Passwords waiting to be hashed.', passwords.waiting)
  registry.counterOf(
    `${namespace}_password_wait_seconds_total`,
    'Total time that passwords waited to be hashed.',
    () => passwords.waitedMs() / 1000,
  )
  registry.counterOf(
    `${namespace}_database_errors_total`,
    'Database operations that failed because the database was unavailable.',
    databaseErrors,
  )
  registry.gauge(
    `${namespace}_outbox_depth`,
    'During an outage of the mail server or the database: mails waiting for more than a minute.',
    () => outbox.read()?.depth,
    'max',
  )
  registry.gauge(
    `${namespace}_outbox_oldest_age_seconds`,
    'During an outage of the mail server or the database: age of the oldest mail waiting for more than a minute.',
    () => outbox.read()?.oldestAgeSeconds,
    'max',
  )
  registry.gauge(
    `${namespace}_audit_seal_lag_seconds`,
    'Age of the oldest event of the audit trail that is not sealed after more than a minute.',
    () => outbox.read()?.sealLagSeconds,
    'max',
  )
  const delay = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  delay.enable()
  registry.gauge(
    `${namespace}_event_loop_lag_p99_seconds`,
    'Event loop lag since the last scrape, p99.',
    () => {
      const lateMs = delay.percentile(99) / 1e6 - LAG_RESOLUTION_MS
      delay.reset()
      return (Math.floor(Math.max(lateMs, 0) / LAG_STEP_MS) * LAG_STEP_MS) / 1000
    },
    'max',
  )
  registry.gauge('process_resident_memory_bytes', 'Resident memory of the process.', () => process.memoryUsage.rss())
  registry.gauge(
    'process_start_time_seconds',
    'Start time of the process, in seconds since 1970.',
    () => Math.round(performance.timeOrigin) / 1000,
    'min',
  )
}

export type Metrics = {
  /** The text format of Prometheus, for all processes of this service. */
  expose(): Promise<string>
}

/** The other processes that serve on the same port. */
export type MetricsPeers = {
  /** Lets the other processes read the metrics of this one. */
  provide(snapshot: () => Promise<Snapshot>): void
  /** The metrics of all processes, this one included. */
  gather(): Promise<Snapshot[]>
}

/** What the metrics read from the rest of the service. */
export type MetricsSources = {
  readonly passwords: Pick<Passwords, 'waiting' | 'waitedMs'>
  readonly databaseErrors: () => number
  readonly measureOutbox: MeasureOutbox
  readonly webhooks: WebhookSources
  readonly now: () => number
  readonly peers?: MetricsPeers | undefined
}

/** Shows the counters, and what an operator monitors besides them. */
export function createMetrics({ namespace, registry: counted }: Counters, sources: MetricsSources): Metrics {
  const { measureOutbox, webhooks, now, peers } = sources
  const registry = createRegistry()
  const outbox = createOutboxGauge(measureOutbox, now)
  addOperationMetrics(registry, namespace, sources, outbox)
  const refreshWebhooks = addWebhookMetrics(registry, namespace, webhooks, now)
  const snapshot = async () => {
    await Promise.all([outbox.refresh(), refreshWebhooks()])
    return [...registry.snapshot(), ...counted.snapshot()]
  }
  peers?.provide(snapshot)
  return { expose: async () => exposition(peers ? await peers.gather() : [await snapshot()]) }
}
