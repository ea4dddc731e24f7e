import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { AuthFailureReason, AuthMethod, KeyValidationStatus, LoginStatus, Observer } from '../domain/operations/observer.ts'
import { LIMIT_NAMES } from '../domain/values/rate-limits.ts'
import { AUDITED_KINDS } from '../model/event.ts'
import type { Passwords } from '../security/password.ts'
import { exposition } from './exposition.ts'
import { createOutboxGauge, type MeasureOutbox, type OutboxGauge } from './outbox-gauge.ts'
import { createRegistry, type Registry, type Snapshot } from './registry.ts'
import { addWebhookMetrics, type WebhookSources } from './webhook-metrics.ts'

const LAG_RESOLUTION_MS = 20
// The metrics are public, and a mail takes some milliseconds of processor time, which an address without an account does not cause:
// processor time is not shown at all, and the lag of the event loop is rounded to steps wider than that.
const LAG_STEP_MS = 10

const AUTH_METHODS: readonly AuthMethod[] = ['jwt', 'refresh_token', 'verify_email', 'password_reset', 'email_change']
const AUTH_FAILURES: readonly AuthFailureReason[] = [
  'invalid_token',
  'expired_token',
  'user_not_found',
  'banned_user',
  'unverified_user',
  'already_verified',
]
// An object, so that a status that is missing here does not compile.
const KEY_STATUSES: Readonly<Record<KeyValidationStatus, true>> = {
  valid: true,
  invalid_format: true,
  not_found: true,
  inactive: true,
  expired: true,
  user_banned: true,
  user_unverified: true,
}
const LOGIN_STATUSES: readonly LoginStatus[] = ['success', 'invalid_password', 'banned', 'not_verified']

// The metrics are public: only accounts that exist have failed logins.
const PUBLIC_KINDS = AUDITED_KINDS.filter((kind) => kind !== 'login.failed')

/** The prefix of every name (spec 4.5, rule 1). */
export function metricNamespace(apiTitle: string): string {
  return apiTitle
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '_')
    .replace(/^(?=\d)/, '_')
}

/** Counts what the services report. Every combination of labels exists from the start, so that a first failure shows as an increase. */
function createMetricsObserver(registry: Registry, namespace: string): Observer {
  const authFailures = registry.counter(`${namespace}_auth_failures_total`, 'Refused credentials, by kind and reason.', [
    'method',
    'reason',
  ])
  const keyValidations = registry.counter(`${namespace}_api_key_validations_total`, 'Presented API keys, by outcome.', ['status'])
  const loginAttempts = registry.counter(`${namespace}_login_attempts_total`, 'Login attempts, by outcome.', ['status'])
  const rateLimited = registry.counter(`${namespace}_rate_limited_requests_total`, 'Requests that exceeded a limit, by limit.', ['limit'])
  const auditEvents = registry.counter(`${namespace}_audit_events_total`, 'Recorded events of the audit trail, by kind.', ['kind'])
  const failures = Object.fromEntries(
    AUTH_METHODS.map((method) => [method, byName(AUTH_FAILURES, (reason) => authFailures(method, reason))]),
  )
  const keys = byName(Object.keys(KEY_STATUSES), keyValidations)
  const logins = byName(LOGIN_STATUSES, loginAttempts)
  const limits = byName(LIMIT_NAMES, rateLimited)
  const kinds = byName(PUBLIC_KINDS, auditEvents)
  return {
    authFailure: (method, reason) => count(failures[method]?.[reason]),
    keyValidation: (status) => count(keys[status]),
    loginAttempt: (status) => count(logins[status]),
    limited: (limit) => count(limits[limit]),
    recorded: (kind) => count(kinds[kind]),
  }
}

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
  readonly registry: Registry
  readonly namespace: string
  readonly observer: Observer
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

export function createMetrics(apiTitle: string, sources: MetricsSources): Metrics {
  const { measureOutbox, webhooks, now, peers } = sources
  const registry = createRegistry()
  const namespace = metricNamespace(apiTitle)
  const outbox = createOutboxGauge(measureOutbox, now)
  addOperationMetrics(registry, namespace, sources, outbox)
  const refreshWebhooks = addWebhookMetrics(registry, namespace, webhooks, now)
  const snapshot = async () => {
    await Promise.all([outbox.refresh(), refreshWebhooks()])
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
