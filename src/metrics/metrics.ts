import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { AuthFailureReason, AuthMethod, KeyValidationStatus, LoginStatus, Observer } from '../domain/observer.ts'
import type { Passwords } from '../security/password.ts'
import type { MonitoredDatabase } from '../storage/monitored.ts'
import { exposition } from './exposition.ts'
import { createOutboxGauge, type OutboxGauge } from './outbox-gauge.ts'
import { createRegistry, type Registry, type Snapshot } from './registry.ts'

const LAG_RESOLUTION_MS = 20
// Everybody may read the metrics, and a mail costs the processor some milliseconds, which an address without an account does not:
// processor time is not told at all, and the lag of the event loop in steps that are wider than that.
const LAG_STEP_MS = 10

const AUTH_METHODS: readonly AuthMethod[] = ['jwt', 'refresh_token', 'verify_email', 'password_reset']
const AUTH_FAILURES: readonly AuthFailureReason[] = [
  'invalid_token',
  'expired_token',
  'user_not_found',
  'banned_user',
  'unverified_user',
  'already_verified',
]
const KEY_STATUSES: readonly KeyValidationStatus[] = ['valid', 'invalid_format', 'not_found', 'inactive', 'user_banned', 'user_unverified']
const LOGIN_STATUSES: readonly LoginStatus[] = ['success', 'invalid_password', 'banned', 'not_verified']

/** The first part of every name (spec 4.5, rule 1). */
export function metricNamespace(apiTitle: string): string {
  return apiTitle
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '_')
    .replace(/^(?=\d)/, '_')
}

/** Counts what the rules tell. Every combination of labels is there from the start, so that a first failure shows as a rise. */
function createMetricsObserver(registry: Registry, namespace: string): Observer {
  const authFailures = registry.counter(`${namespace}_auth_failures_total`, 'Credentials that were refused, by kind and reason.', [
    'method',
    'reason',
  ])
  const keyValidations = registry.counter(`${namespace}_api_key_validations_total`, 'API keys that were presented, by outcome.', ['status'])
  const loginAttempts = registry.counter(`${namespace}_login_attempts_total`, 'Logins that were tried, by outcome.', ['status'])
  const failures = Object.fromEntries(
    AUTH_METHODS.map((method) => [method, byName(AUTH_FAILURES, (reason) => authFailures(method, reason))]),
  )
  const keys = byName(KEY_STATUSES, keyValidations)
  const logins = byName(LOGIN_STATUSES, loginAttempts)
  return {
    authFailure: (method, reason) => count(failures[method]?.[reason]),
    keyValidation: (status) => count(keys[status]),
    loginAttempt: (status) => count(logins[status]),
  }
}

/** What the metrics read of the rest of the service, when they are asked for. */
type Watched = { readonly passwords: Passwords; readonly outbox: OutboxGauge; databaseErrors(): number }

/** What an operator watches beside the requests. */
function addOperationMetrics(registry: Registry, namespace: string, { passwords, outbox, databaseErrors }: Watched): void {
  registry.gauge(`${namespace}_password_queue_length`, 'Passwords that wait to be hashed.', passwords.waiting)
  registry.counterOf(
    `${namespace}_password_wait_seconds_total`,
    'Time that passwords have waited to be hashed.',
    () => passwords.waitedMs() / 1000,
  )
  registry.counterOf(`${namespace}_database_errors_total`, 'Times that the database could not be used.', databaseErrors)
  registry.gauge(
    `${namespace}_outbox_depth`,
    'Mails that have waited for more than a minute for the server or the database.',
    () => outbox.read()?.depth,
    'max',
  )
  registry.gauge(
    `${namespace}_outbox_oldest_age_seconds`,
    'Age of the mail that has waited longest, if for more than a minute, for the server or the database.',
    () => outbox.read()?.oldestAgeSeconds,
    'max',
  )
  const delay = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  delay.enable()
  registry.gauge(
    `${namespace}_event_loop_lag_p99_seconds`,
    'How late the event loop was in the worst of 100 samples since the last look.',
    () => {
      const lateMs = delay.percentile(99) / 1e6 - LAG_RESOLUTION_MS
      delay.reset()
      return (Math.floor(Math.max(lateMs, 0) / LAG_STEP_MS) * LAG_STEP_MS) / 1000
    },
    'max',
  )
  registry.gauge('process_resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage.rss())
  registry.gauge(
    'process_start_time_seconds',
    'When the process started, in seconds since 1970.',
    () => Math.round(performance.timeOrigin) / 1000,
    'min',
  )
}

export type Metrics = {
  readonly registry: Registry
  readonly namespace: string
  readonly observer: Observer
  /** The text format of Prometheus, for all processes of this service. */
  expose(): Promise<string>
}

/** The other processes that serve on the same port. */
export type MetricsPeers = {
  /** How the others get at the metrics of this process. */
  provide(snapshot: () => Promise<Snapshot>): void
  /** The metrics of all processes, this one included. */
  gather(): Promise<Snapshot[]>
}

type Parts = {
  readonly db: MonitoredDatabase
  readonly passwords: Passwords
  readonly now: () => number
  readonly peers?: MetricsPeers | undefined
}

export function createMetrics(apiTitle: string, { db, passwords, now, peers }: Parts): Metrics {
  const registry = createRegistry()
  const namespace = metricNamespace(apiTitle)
  const outbox = createOutboxGauge(db, now)
  addOperationMetrics(registry, namespace, { passwords, outbox, databaseErrors: db.errorCount })
  const snapshot = async () => {
    await outbox.refresh()
    return registry.snapshot()
  }
  peers?.provide(snapshot)
  return {
    registry,
    namespace,
    observer: createMetricsObserver(registry, namespace),
    expose: async () => exposition(peers ? await peers.gather() : [await snapshot()]),
  }
}

function byName<Name extends string, Value>(names: readonly Name[], create: (name: Name) => Value): Record<string, Value> {
  return Object.fromEntries(names.map((name) => [name, create(name)]))
}

function count(series: { value: number } | undefined): void {
  if (series) series.value++
}
