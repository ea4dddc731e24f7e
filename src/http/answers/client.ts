import type { FastifyRequest } from 'fastify'

/** Browsers name text/html in Accept; programs do not. */
export function wantsHtml({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true
}
