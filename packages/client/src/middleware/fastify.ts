import type { FastifyReply, FastifyRequest } from 'fastify'
import { createGuard, type GuardOptions, type RequestIdentity } from './guard.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is calling, behind `latchkey()`. */
    identity: RequestIdentity
  }
}

/** A hook for Fastify: `app.get('/notes', { onRequest: latchkey({ url, scope: 'notes:read' }) }, handler)`. */
export function latchkey(options: GuardOptions): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined> {
  const guard = createGuard(options)
  return async (request, reply) => {
    const result = await guard(request.headers)
    if ('refusal' in result) {
      const { status, headers, body } = result.refusal
      return reply.code(status).headers(headers).send(body)
    }
    request.identity = result.identity
    return undefined
  }
}
