import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Counters, RouteCounters } from '../../metrics/counters.ts'
import { type Declared, type Hook, shownMethod } from './declarations.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Excludes the route from the request metrics: monitoring requests are not usage. */
    isUncounted?: boolean
  }
}

const NO_ROUTE = 'none'
// The status that nginx uses for a client that disconnects before the response.
const CLIENT_CLOSED_REQUEST = 499

export type RequestMetrics = ReturnType<typeof createRequestMetrics>

/** Observes each request once, from its arrival to the end of its response. */
export function createRequestMetrics({ ofRoute }: Pick<Counters, 'ofRoute'>) {
  const unmatched = ofRoute(NO_ROUTE)

  function track(counters: RouteCounters, request: FastifyRequest, reply: FastifyReply): void {
    const startedAtMs = performance.now()
    counters.begin()
    // Emitted exactly once, at the end of the response or of the connection.
    reply.raw.on('close', () =>
      counters.end({
        method: shownMethod(request.method),
        status: statusOf(reply),
        durationMs: performance.now() - startedAtMs,
        // The bytes that were read, not the Content-Length that the client claims.
        requestBytes: request.bodyBytes,
        responseBytes: responseBytes(reply),
      }),
    )
  }

  return {
    /** Counts a request whose path matches no route. */
    countUnmatched: (request: FastifyRequest, reply: FastifyReply) => track(unmatched, request, reply),
    /** The step that counts the requests of one route. */
    stepFor(route: Declared): Hook | undefined {
      if (route.config.isUncounted) return undefined
      const counters = route.config.allow === undefined ? ofRoute(templateOf(route)) : unmatched
      return (request, reply, done) => {
        track(counters, request, reply)
        done()
      }
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
