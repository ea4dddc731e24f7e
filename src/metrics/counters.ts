import type { ActivityCounts } from '../domain/operations/activity.ts'
import { AUTH_FAILURES, AUTH_METHODS, FACTOR_STATUSES, KEY_STATUSES, LOGIN_STATUSES, type Observer } from '../domain/operations/observer.ts'
import { CHECK_LIMIT_NAMES } from '../domain/values/plans.ts'
import { CODE_LIMIT_NAMES, LIMIT_NAMES } from '../domain/values/rate-limits.ts'
import { AUDITED_KINDS } from '../model/event.ts'
import { FACTOR_METHODS } from '../model/factor.ts'
import { createRegistry, type Registry, type Series } from './registry.ts'

// The metrics are public: only accounts that exist have failed logins.
const PUBLIC_KINDS = AUDITED_KINDS.filter((kind) => kind !== 'login.failed' && kind !== 'factor.failed')

/** The prefix of every name (spec 4.5, rule 1). */
export function metricNamespace(apiTitle: string): string {
  return apiTitle
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '_')
    .replace(/^(?=\d)/, '_')
}

/** Counts what the services report. Every combination of labels exists from the start, so that a first failure shows as an increase. */
function createObserver(registry: Registry, beforeCount: () => void) {
  const authFailures = registry.counter('auth_failures_total', 'Refused credentials, by kind and reason.', ['method', 'reason'])
  const keyValidations = registry.counter('api_key_validations_total', 'Presented API keys, by outcome.', ['status'])
  const loginAttempts = registry.counter('login_attempts_total', 'Login attempts, by outcome.', ['status'])
  const factorAttempts = registry.counter('second_factor_attempts_total', 'Second factors, by method and outcome.', ['method', 'status'])
  const rateLimited = registry.counter('rate_limited_requests_total', 'Requests that exceeded a limit, by limit.', ['limit'])
  const auditEvents = registry.counter('audit_events_total', 'Recorded events of the audit trail, by kind.', ['kind'])
  const failures = byName(AUTH_METHODS, (method) => byName(AUTH_FAILURES, (reason) => authFailures(method, reason)))
  const keys = byName(KEY_STATUSES, keyValidations)
  const logins = byName(LOGIN_STATUSES, loginAttempts)
  const factors = byName(FACTOR_METHODS, (method) => byName(FACTOR_STATUSES, (status) => factorAttempts(method, status)))
  const limits = byName([...LIMIT_NAMES, ...CODE_LIMIT_NAMES, ...CHECK_LIMIT_NAMES], rateLimited)
  const kinds = byName(PUBLIC_KINDS, auditEvents)
  const observer: Observer = {
    authFailure: (method, reason) => count(failures[method]?.[reason]),
    keyValidation: (status) => count(keys[status]),
    loginAttempt(status) {
      beforeCount()
      count(logins[status])
    },
    secondFactorAttempt: (method, status) => count(factors[method]?.[status]),
    limited: (limit) => count(limits[limit]),
    recorded: (kind) => count(kinds[kind]),
  }
  const totals = () => {
    const { success = NO_SERIES, ...others } = logins
    return { logins: success.value, failedLogins: Object.values(others).reduce((sum, { value }) => sum + value, 0) }
  }
  return { observer, totals }
}

const NO_SERIES: Series = { value: 0 }

/** A request, observed once, when its response has ended. */
type ObservedRequest = {
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
function createRequestCounters(registry: Registry, beforeCount: () => void) {
  const labels = ['handler', 'method', 'status']
  const requests = registry.counter('http_requests_total', 'Requests, by route, method and class of status.', labels)
  const duration = registry.histogram('http_request_duration_highr_seconds', 'Time from a request to the end of its response.', BUCKETS_S)
  const requestSize = registry.summary('http_request_size_bytes', 'Sizes of request bodies, by route.', ['handler'])
  const responseSize = registry.summary('http_response_size_bytes', 'Sizes of response bodies, by route.', ['handler'])
  let inProgress = 0
  registry.gauge('http_requests_inprogress', 'Requests in flight.', () => inProgress)
  const totals = { requests: 0, refused: 0, failed: 0 }
  let slowestMs = 0

  function ofRoute(handler: string): RouteCounters {
    const [received, sent] = [requestSize(handler), responseSize(handler)]
    const byMethod = new Map<string, Series[]>()

    function seriesOf(method: string, statusClass: number): Series {
      const byClass = byMethod.get(method) ?? []
      const series = byClass[statusClass] ?? requests(handler, method, `${statusClass}xx`)
      byClass[statusClass] = series
      if (!byMethod.has(method)) byMethod.set(method, byClass)
      return series
    }

    return {
      begin: () => void inProgress++,
      end({ method, status, durationMs, requestBytes, responseBytes }) {
        beforeCount()
        inProgress--
        const statusClass = Math.floor(status / 100)
        seriesOf(method, statusClass).value++
        totals.requests++
        if (statusClass === 4) totals.refused++
        if (statusClass === 5) totals.failed++
        duration.observe(durationMs / 1000)
        slowestMs = Math.max(slowestMs, durationMs)
        received.observe(requestBytes)
        sent.observe(responseBytes)
      },
    }
  }

  return {
    ofRoute,
    totals: () => ({ ...totals, durationUs: duration.sum() * 1e6 }),
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
  const namespace = metricNamespace(apiTitle)
  const registry = createRegistry(namespace)
  let callback: (() => void) | undefined
  const beforeCount = () => callback?.()
  const reported = createObserver(registry, beforeCount)
  const { ofRoute, totals, takeSlowestUs } = createRequestCounters(registry, beforeCount)
  return {
    namespace,
    registry,
    observer: reported.observer,
    ofRoute,
    activity: {
      totals: () => ({ ...totals(), ...reported.totals() }),
      takeSlowestUs,
      beforeCount: (call) => {
        callback = call
      },
    },
  }
}

function byName<Name extends string, Value>(names: readonly Name[], create: (name: Name) => Value): Record<string, Value> {
  return Object.fromEntries(names.map((name) => [name, create(name)]))
}

function count(series: Series | undefined): void {
  if (series) series.value++
}
