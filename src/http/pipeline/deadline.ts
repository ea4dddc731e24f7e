import type { RouteHandlerMethod } from 'fastify'
import { Refusal } from '../../model/refusal.ts'
import type { AsyncStep, Declared } from './declarations.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For a hot route that runs a single statement. The statement already has a timeout, so the cost of a second timer is not worth it. */
    skipsDeadline?: boolean
    /** For a route that may take longer than others. */
    deadlineMs?: number
  }
  interface FastifyRequest {
    /** How long it took to identify the caller and to count the request. */
    guardedMs: number
  }
}

// Every client gets a response within three seconds. The margin allows for a busy machine and the network.
const LIMIT_MS = 2400

/*
 * One deadline for everything that a request waits for: authentication, the password queue, statements, a transaction. Each of these
 * has its own timeout, but their sum would be too long. The time that a client takes to send its body does not count, so the deadline
 * has two parts: the clock runs while the caller is identified, and the handler gets the remaining time.
 */

/** A route that may wait for the database or the password queue declares 503. Other routes need no deadline. */
export function isLimited({ config, schema }: Declared, { hasOtherStatements = false } = {}): boolean {
  return (!config.skipsDeadline || hasOtherStatements) && 503 in schema.response
}

/** Counts the time of a step for the deadline. */
export function timed(step: AsyncStep): AsyncStep {
  return async (request) => {
    const startedAtMs = performance.now()
    await step(request)
    request.guardedMs += performance.now() - startedAtMs
  }
}

/** Answers 503 and cancels the work when the handler takes too long. */
export function withDeadline(handler: RouteHandlerMethod, limitMs = LIMIT_MS): RouteHandlerMethod {
  return async function (request, reply) {
    const { promise: expired, reject } = Promise.withResolvers<never>()
    const expire = () => {
      // A list that is already being sent continues.
      if (reply.raw.headersSent) return
      const refusal = new Refusal('unavailable', `the request took longer than ${limitMs} ms`)
      reject(refusal)
      // The reason tells an expired deadline from a client that has disconnected.
      request.cancellation?.abort(refusal)
    }
    const timer = setTimeout(expire, Math.max(0, limitMs - request.guardedMs))
    try {
      return await Promise.race([handler.call(this, request, reply), expired])
    } finally {
      clearTimeout(timer)
    }
  }
}
