import type { FastifyReply, FastifyRequest } from 'fastify'

/** The signal of `request.origin`. */
export function nobodyWaits({ request }: FastifyReply): AbortSignal | undefined {
  return request.origin.signal
}

/** Browsers name text/html in Accept; programs do not. */
export function wantsHtml({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true
}
