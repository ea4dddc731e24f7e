import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** On every response. What serves pages loosens the policy for itself alone. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'cross-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'Authorization, Content-Type, X-API-Key',
  'access-control-max-age': '600',
}
const EXPOSED_HEADERS = 'Retry-After, WWW-Authenticate, X-Request-Id'

export type SetHeaders = (request: FastifyRequest, reply: FastifyReply) => void

/** Sets what every response carries, whatever becomes of the request. */
export function createHeaders(corsOrigins: '*' | readonly string[]): SetHeaders {
  const fixedHeaders =
    corsOrigins === '*'
      ? { ...SECURITY_HEADERS, 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED_HEADERS }
      : SECURITY_HEADERS

  return (request, reply) => {
    reply.headers(fixedHeaders)
    reply.header('x-request-id', request.id)
    if (corsOrigins !== '*') allowListedOrigin(corsOrigins, request, reply)
  }
}

export function installHeaders(app: FastifyInstance, setHeaders: SetHeaders): void {
  app.addHook('onRequest', (request, reply, done) => {
    setHeaders(request, reply)
    if (isPreflight(request)) reply.headers(PREFLIGHT_HEADERS).code(204).send()
    else done()
  })
}

function allowListedOrigin(origins: readonly string[], request: FastifyRequest, reply: FastifyReply): void {
  reply.header('vary', 'Origin')
  const origin = request.headers.origin
  if (origin === undefined || !origins.includes(origin)) return
  reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', EXPOSED_HEADERS)
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}
