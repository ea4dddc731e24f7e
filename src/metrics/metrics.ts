import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Passwords } from '../security/password.ts'
import type { Counters } from './counters.ts'
import { addOutboxMetrics, addWebhookMetrics, type MeasureOutbox, type WebhookSources } from './measurements.ts'
import { createRegistry, exposition, type Registry, type Snapshot } from './registry.ts'

const LAG_RESOLUTION_MS = 20
// The metrics are public, and a mail takes some milliseconds of processor time, which an address without an account does not cause:
// processor time is not shown at all, and the lag of the event loop is rounded to steps wider than that.
const LAG_STEP_MS = 10

/** Adds what an operator monitors of the process itself. */
function addProcessMetrics(registry: Registry): void {
  const delay = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  delay.enable()
  const readLagSeconds = () => {
    const lateMs = delay.percentile(99) / 1e6 - LAG_RESOLUTION_MS
    delay.reset()
    return (Math.floor(Math.max(lateMs, 0) / LAG_STEP_MS) * LAG_STEP_MS) / 1000
  }
  const startedAtSeconds = () => Math.round(performance.timeOrigin) / 1000
  registry.gauge('event_loop_lag_p99_seconds', 'Event loop lag since the last scrape, p99.', readLagSeconds, 'max')
  registry.gauge('process_resident_memory_bytes', 'Resident memory of the process.', () => process.memoryUsage.rss())
  registry.gauge('process_start_time_seconds', 'Start time of the process, in seconds since 1970.', startedAtSeconds, 'min')
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
  const { passwords, databaseErrors, measureOutbox, webhooks, now, peers } = sources
  const registry = createRegistry(namespace)
  const waitedSeconds = () => passwords.waitedMs() / 1000
  registry.gauge('password_queue_length', 'Passwords waiting to be hashed.', passwords.waiting)
  registry.counterOf('password_wait_seconds_total', 'Total time that passwords waited to be hashed.', waitedSeconds)
  registry.counterOf('database_errors_total', 'Database operations that failed because the database was unavailable.', databaseErrors)
  const refreshOutbox = addOutboxMetrics(registry, measureOutbox, now)
  addProcessMetrics(registry)
  const refreshWebhooks = addWebhookMetrics(registry, webhooks, now)
  const snapshot = async () => {
    await Promise.all([refreshOutbox(), refreshWebhooks()])
    return [...registry.snapshot(), ...counted.snapshot()]
  }
  peers?.provide(snapshot)
  return { expose: async () => exposition(peers ? await peers.gather() : [await snapshot()]) }
}
