import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify'
import { Refusal } from '../../model/refusal.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** It waits for one statement in all, which has a limit of its own, and comes too often to pay for another. */
    asksOnce?: boolean
  }
  interface FastifyRequest {
    /** How long it took to know who calls. */
    guardedMs: number
  }
}

// Every caller has an answer within three seconds; the rest is for a busy machine, and for the way.
const LIMIT_MS = 2500

/**
 * One limit for all that a request waits for in turn: who calls, the password queue, statements, a transaction. Each of these has a
 * limit, and their sum would be too long. What the client takes to send its body does not count.
 */
export function installDeadline(app: FastifyInstance, limitMs = LIMIT_MS): void {
  app.decorateRequest('guardedMs', 0)
  app.addHook('onRoute', (route) => {
    if (!mayWait(route)) return
    if (route.onRequest) route.onRequest = [begin, ...[route.onRequest].flat(), end]
    route.handler = limited(route.handler, limitMs)
  })
}

/** Whatever may find the database or the password queue busy declares 503; all else has nothing to wait for. */
function mayWait({ config, schema }: RouteOptions): boolean {
  return !config?.asksOnce && 503 in Object(schema?.response)
}

function begin(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.guardedMs = -performance.now()
  done()
}

function end(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.guardedMs += performance.now()
  done()
}

function limited(handler: RouteHandlerMethod, limitMs: number): RouteHandlerMethod {
  return async function (request, reply) {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () => {
          // A list that has begun goes on.
          if (reply.raw.headersSent) return
          reject(new Refusal('unavailable', `the request was not done within ${limitMs} ms`))
          request.cancellation?.abort()
        },
        Math.max(0, limitMs - request.guardedMs),
      )
    })
    try {
      return await Promise.race([handler.call(this, request, reply), late])
    } finally {
      clearTimeout(timer)
    }
  }
}
