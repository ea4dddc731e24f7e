import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ActivityLog } from '../../domain/operations/activity.ts'
import type { Registry, Series, Summary } from '../../metrics/registry.ts'
import type { Declared } from '../pipeline/declarations.ts'
import { shownMethod } from '../pipeline/routed-methods.ts'
import type { Hook } from '../pipeline/steps.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Excludes the route from the request metrics: monitoring requests are not usage. */
    isUncounted?: boolean
  }
}

/** The counters of one route, looked up once. */
type RouteCounters = {
  readonly handler: string
  readonly requestSize: Summary
  readonly responseSize: Summary
  readonly series: Map<string, Series[]>
}

const BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const NO_ROUTE = 'none'
// The status that nginx uses for a client that disconnects before the response.
const CLIENT_CLOSED_REQUEST = 499

export type RequestMetrics = {
  /** Counts a request whose path matches no route. */
  countUnmatched(request: FastifyRequest, reply: FastifyReply): void
  /** The step that counts the requests of one route. It keeps the counters of its route, so requests need no lookup. */
  stepFor(route: Declared): Hook | undefined
}

/** What the status page needs of each request. */
export type RequestActivity = Pick<ActivityLog, 'countRequest'>

/** Counts requests for the status page only. */
export function createRequestActivity(activity: RequestActivity): RequestMetrics {
  function track(reply: FastifyReply): void {
    const startedAtMs = performance.now()
    reply.raw.on('close', () => activity.countRequest(statusOf(reply), performance.now() - startedAtMs))
  }
  const step: Hook = (_request, reply, done) => {
    track(reply)
    done()
  }
  return {
    countUnmatched: (_request, reply) => track(reply),
    stepFor: ({ config }) => (config.isUncounted ? undefined : step),
  }
}

/** Counts requests by route, never by path: clients can send any path, so the number of series would be unbounded. */
export function createRequestMetrics(registry: Registry, namespace: string, activity: RequestActivity | undefined): RequestMetrics {
  const requests = registry.counter(`${namespace}_http_requests_total`, 'Requests, by route, method and class of status.', [
    'handler',
    'method',
    'status',
  ])
  const duration = registry.histogram(
    `${namespace}_http_request_duration_highr_seconds`,
    'Time from a request to the end of its response.',
    BUCKETS_S,
  )
  const requestSize = registry.summary(`${namespace}_http_request_size_bytes`, 'Sizes of request bodies, by route.', ['handler'])
  const responseSize = registry.summary(`${namespace}_http_response_size_bytes`, 'Sizes of response bodies, by route.', ['handler'])
  let inProgress = 0
  registry.gauge(`${namespace}_http_requests_inprogress`, 'Requests in flight.', () => inProgress)

  function countersOf(handler: string): RouteCounters {
    return { handler, requestSize: requestSize(handler), responseSize: responseSize(handler), series: new Map() }
  }

  const unmatched = countersOf(NO_ROUTE)

  function tracking(counters: RouteCounters): Hook {
    return (request, reply, done) => {
      track(counters, request, reply)
      done()
    }
  }

  function track(counters: RouteCounters, request: FastifyRequest, reply: FastifyReply): void {
    const startedAtMs = performance.now()
    inProgress++
    // Emitted exactly once, at the end of the response or of the connection.
    reply.raw.on('close', () => {
      inProgress--
      const status = statusOf(reply)
      const durationMs = performance.now() - startedAtMs
      seriesOf(counters, shownMethod(request.method), status).value++
      duration.observe(durationMs / 1000)
      activity?.countRequest(status, durationMs)
      // The bytes that were read, not the Content-Length that the client claims.
      counters.requestSize.observe(request.bodyBytes)
      counters.responseSize.observe(responseBytes(reply))
    })
  }

  function seriesOf({ handler, series }: RouteCounters, method: string, status: number): Series {
    const statusClass = Math.floor(status / 100)
    const byClass = series.get(method) ?? []
    const found = byClass[statusClass]
    if (found) return found
    const created = requests(handler, method, `${statusClass}xx`)
    byClass[statusClass] = created
    series.set(method, byClass)
    return created
  }

  return {
    countUnmatched: (request, reply) => track(unmatched, request, reply),
    stepFor(route) {
      if (route.config.isUncounted) return undefined
      return tracking(route.config.allow === undefined ? countersOf(templateOf(route)) : unmatched)
    },
  }
}

function statusOf({ raw }: FastifyReply): number {
  return raw.headersSent ? raw.statusCode : CLIENT_CLOSED_REQUEST
}

/** A stream has no Content-Length; its bytes are counted as they are sent. */
function responseBytes(reply: FastifyReply): number {
  return Number(reply.getHeader('content-length') ?? reply.streamedBytes)
}

/** As the specification writes it: `/users/{user_id}`. */
function templateOf({ url }: Declared): string {
  return url.replace(/:(\w+)/g, '{$1}')
}
