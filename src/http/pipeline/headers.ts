import type { FastifyReply, FastifyRequest } from 'fastify'

/** Set on every response. A page replaces the content security policy with its own. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'Authorization, Content-Type, X-API-Key',
  'access-control-max-age': '600',
}
const EXPOSED_HEADERS = 'Retry-After, WWW-Authenticate, X-Error-Code, X-Request-Id'

export type SetHeaders = (request: FastifyRequest, reply: FastifyReply) => void

/** Sets the headers of every response, errors included. Headers that only browsers read are sent only to browsers. */
export function createHeaders(corsOrigins: '*' | readonly string[]): SetHeaders {
  return (request, reply) => {
    reply.headers(SECURITY_HEADERS)
    reply.header('x-request-id', request.id)
    const { origin } = request.headers
    if (corsOrigins === '*') {
      if (origin !== undefined) allowOrigin(reply, '*')
      return
    }
    reply.header('vary', 'Origin')
    if (origin !== undefined && corsOrigins.includes(origin)) allowOrigin(reply, origin)
  }
}

/** A response without these headers cannot be read by the pages of other sites. */
export function withoutCors(reply: FastifyReply): void {
  reply.removeHeader('access-control-allow-origin')
  reply.removeHeader('access-control-expose-headers')
  reply.header('cross-origin-resource-policy', 'same-origin')
}

function allowOrigin(reply: FastifyReply, origin: string): void {
  reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', EXPOSED_HEADERS)
}

export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

export function answerPreflight(reply: FastifyReply): void {
  reply.headers(PREFLIGHT_HEADERS).code(204).send()
}
