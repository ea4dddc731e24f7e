import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { Refusal } from '../../model/refusal.ts'
import type { Declared } from './declarations.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For a hot route that runs a single statement: the statement has a timeout already, and a second timer would cost more than it. */
    skipsDeadline?: boolean
    /** For a route whose work may take longer than that of others. */
    deadlineMs?: number
  }
  interface FastifyRequest {
    /** How long it took to identify the caller. */
    guardedMs: number
  }
}

// Every client gets an answer within three seconds. The difference is for a busy machine and for the network.
const LIMIT_MS = 2500

/*
 * One deadline for everything that a request waits for in turn: authentication, the password queue, statements, a transaction. Each of
 * these has its own timeout, but their sum would be too long. The time that a client takes to send its body does not count, so there are
 * two parts: the clock runs while the caller is identified, and the handler gets what is left.
 */

export function decorateDeadline(app: FastifyInstance): void {
  app.decorateRequest('guardedMs', 0)
}

/** A route that may find the database or the password queue busy declares 503. Other routes have nothing to wait for. */
export function isLimited({ config, schema }: Declared): boolean {
  return !config.skipsDeadline && 503 in schema.response
}

export function startClock(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.guardedMs = -performance.now()
  done()
}

export function stopClock(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.guardedMs += performance.now()
  done()
}

/** Answers 503 and cancels the work when the handler takes too long. */
export function withDeadline(handler: RouteHandlerMethod, limitMs = LIMIT_MS): RouteHandlerMethod {
  return async function (request, reply) {
    const { promise: expired, reject } = Promise.withResolvers<never>()
    const expire = () => {
      // A list that has begun continues.
      if (reply.raw.headersSent) return
      reject(new Refusal('unavailable', `the request was not done within ${limitMs} ms`))
      request.cancellation?.abort()
    }
    const timer = setTimeout(expire, Math.max(0, limitMs - request.guardedMs))
    try {
      return await Promise.race([handler.call(this, request, reply), expired])
    } finally {
      clearTimeout(timer)
    }
  }
}
