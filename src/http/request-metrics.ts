import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Registry, Series, Summary } from '../metrics/registry.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Left out of the request metrics: watching the service does not count as using it. */
    isUncounted?: boolean
    counters?: RouteCounters
  }
}

/** What is counted for one route, looked up once. */
type RouteCounters = {
  readonly handler: string
  readonly requestSize: Summary
  readonly responseSize: Summary
  readonly series: Map<string, Series>
}

const BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const NO_ROUTE = 'none'
// As other servers call it when the client has gone before its answer.
const CLIENT_CLOSED_REQUEST = 499

/** Counts requests by route, never by path: a path is made up by whoever asks, and there is no end of them. */
export function installRequestMetrics(app: FastifyInstance, registry: Registry, namespace: string): void {
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

  app.addHook('onRoute', (route) => {
    if (route.config && !route.config.isUncounted)
      route.config.counters = route.config.isMethodRefusal ? unmatched : countersOf(templateOf(route))
  })

  app.addHook('onRequest', (request, reply, done) => {
    const counters = request.is404 ? unmatched : request.routeOptions.config.counters
    if (counters) track(counters, request, reply)
    done()
  })

  function track(counters: RouteCounters, request: FastifyRequest, reply: FastifyReply): void {
    const startedAtMs = performance.now()
    const bytesBefore = request.socket?.bytesWritten ?? 0
    inProgress++
    // The end of the response, or of the connection: whichever comes, it comes once.
    reply.raw.once('close', () => {
      inProgress--
      const status = reply.raw.headersSent ? reply.raw.statusCode : CLIENT_CLOSED_REQUEST
      seriesOf(counters, request.method, status).value++
      duration.observe((performance.now() - startedAtMs) / 1000)
      // What was read, not what the client says that it sends.
      counters.requestSize.observe(request.bodyBytes)
      counters.responseSize.observe(responseBytes(reply, bytesBefore))
    })
  }

  function seriesOf({ handler, series }: RouteCounters, method: string, status: number): Series {
    const statusClass = Math.floor(status / 100)
    const key = `${method}${statusClass}`
    const found = series.get(key) ?? requests(handler, method, `${statusClass}xx`)
    series.set(key, found)
    return found
  }
}

/** Of a stream, whose length nobody knows beforehand, what has gone over the wire. */
function responseBytes(reply: FastifyReply, bytesBefore: number): number {
  const length = reply.getHeader('content-length')
  if (length !== undefined) return Number(length)
  return reply.raw.headersSent ? Math.max((reply.request.socket?.bytesWritten ?? 0) - bytesBefore, 0) : 0
}

/** As the specification writes it: `/users/{user_id}`. */
function templateOf({ url }: RouteOptions): string {
  return url.replace(/:(\w+)/g, '{$1}')
}
