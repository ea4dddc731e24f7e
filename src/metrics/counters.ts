import type { ActivityCounts, ActivityTotals } from '../domain/operations/activity.ts'
import type { AuthFailureReason, AuthMethod, KeyValidationStatus, LoginStatus, Observer } from '../domain/operations/observer.ts'
import { LIMIT_NAMES } from '../domain/values/rate-limits.ts'
import { AUDITED_KINDS } from '../model/event.ts'
import { createRegistry, type Registry, type Series } from './registry.ts'

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
function createObserver(registry: Registry, namespace: string, beforeCount: () => void) {
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
  const observer: Observer = {
    authFailure: (method, reason) => count(failures[method]?.[reason]),
    keyValidation: (status) => count(keys[status]),
    loginAttempt(status) {
      beforeCount()
      count(logins[status])
    },
    limited: (limit) => count(limits[limit]),
    recorded: (kind) => count(kinds[kind]),
  }
  return {
    observer,
    logins: () => valuesOf(logins, (status) => status === 'success'),
    failedLogins: () => valuesOf(logins, (status) => status !== 'success'),
  }
}

/** A request, observed once, when its response has ended. */
export type ObservedRequest = {
  readonly method: string
  readonly status: number
  readonly durationMs: number
  readonly requestBytes: number
  readonly responseBytes: number
}

/** The counters of one route, looked up once, so that its requests need no lookup. */
export type RouteCounters = { begin(): void; end(request: ObservedRequest): void }

const BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Counts requests by route, never by path: clients can send any path, so the number of series would be unbounded. */
function createRequestCounters(registry: Registry, namespace: string, beforeCount: () => void) {
  const name = `${namespace}_http_request`
  const labels = ['handler', 'method', 'status']
  const requests = registry.counter(`${name}s_total`, 'Requests, by route, method and class of status.', labels)
  const duration = registry.histogram(`${name}_duration_highr_seconds`, 'Time from a request to the end of its response.', BUCKETS_S)
  const requestSize = registry.summary(`${name}_size_bytes`, 'Sizes of request bodies, by route.', ['handler'])
  const responseSize = registry.summary(`${namespace}_http_response_size_bytes`, 'Sizes of response bodies, by route.', ['handler'])
  let inProgress = 0
  registry.gauge(`${name}s_inprogress`, 'Requests in flight.', () => inProgress)
  /** All series of requests, by the class of their status. */
  const all: Series[][] = []
  let slowestMs = 0

  function ofRoute(handler: string): RouteCounters {
    const [received, sent] = [requestSize(handler), responseSize(handler)]
    const byMethod = new Map<string, Series[]>()

    function seriesOf(method: string, status: number): Series {
      const statusClass = Math.floor(status / 100)
      const byClass = byMethod.get(method) ?? []
      const known = byClass[statusClass]
      if (known) return known
      const created = requests(handler, method, `${statusClass}xx`)
      byClass[statusClass] = created
      byMethod.set(method, byClass)
      all[statusClass] = [...(all[statusClass] ?? []), created]
      return created
    }

    return {
      begin: () => void inProgress++,
      end({ method, status, durationMs, requestBytes, responseBytes }) {
        beforeCount()
        inProgress--
        seriesOf(method, status).value++
        duration.observe(durationMs / 1000)
        slowestMs = Math.max(slowestMs, durationMs)
        received.observe(requestBytes)
        sent.observe(responseBytes)
      },
    }
  }

  const countOf = (series: readonly Series[] = []) => series.reduce((sum, { value }) => sum + value, 0)
  return {
    ofRoute,
    totals: () => ({ requests: countOf(all.flat()), refused: countOf(all[4]), failed: countOf(all[5]), durationUs: duration.sum() * 1e6 }),
    takeSlowestUs() {
      const slowestUs = slowestMs * 1000
      slowestMs = 0
      return slowestUs
    },
  }
}

export type Counters = {
  readonly namespace: string
  readonly registry: Registry
  /** Counts what the services report. */
  readonly observer: Observer
  ofRoute(handler: string): RouteCounters
  /** The same numbers, for the status page. */
  readonly activity: ActivityCounts
}

/** The one place that counts what requests and logins do: /metrics shows it since the start, the status page minute by minute. */
export function createCounters(apiTitle: string): Counters {
  const registry = createRegistry()
  const namespace = metricNamespace(apiTitle)
  let callback: (() => void) | undefined
  const beforeCount = () => callback?.()
  const { observer, logins, failedLogins } = createObserver(registry, namespace, beforeCount)
  const { ofRoute, totals, takeSlowestUs } = createRequestCounters(registry, namespace, beforeCount)
  return {
    namespace,
    registry,
    observer,
    ofRoute,
    activity: {
      totals: (): ActivityTotals => ({ ...totals(), logins: logins(), failedLogins: failedLogins() }),
      takeSlowestUs,
      beforeCount: (call) => {
        callback = call
      },
    },
  }
}

function valuesOf(series: Readonly<Record<string, Series>>, isMeant: (name: string) => boolean): number {
  return Object.entries(series).reduce((sum, [name, { value }]) => sum + (isMeant(name) ? value : 0), 0)
}

function byName<Name extends string, Value>(names: readonly Name[], create: (name: Name) => Value): Record<string, Value> {
  return Object.fromEntries(names.map((name) => [name, create(name)]))
}

function count(series: { value: number } | undefined): void {
  if (series) series.value++
}
