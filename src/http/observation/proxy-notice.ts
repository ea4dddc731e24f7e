import type { FastifyBaseLogger, FastifyRequest } from 'fastify'

const INTERVAL_MS = 60 * 60_000
const MESSAGE =
  'X-Forwarded-For arrives while TRUST_PROXY is off, so that all clients seem to have the address of the proxy; set TRUST_PROXY=true if every request passes a proxy'

/** Whether a proxy names the client of a request, and the settings say to ignore it. */
export function isForwardedUnseen({ headers }: FastifyRequest, trustProxy: boolean): boolean {
  return !trustProxy && headers['x-forwarded-for'] !== undefined
}

/** Logs, at most once an hour, that the address of a client is ignored. Undefined where it is not. */
export function createProxyNotice(
  logger: FastifyBaseLogger,
  trustProxy: boolean,
  now: () => number = Date.now,
): ((request: FastifyRequest) => void) | undefined {
  if (trustProxy) return undefined
  let loggedAt = Number.NEGATIVE_INFINITY
  return (request) => {
    if (!isForwardedUnseen(request, trustProxy) || now() - loggedAt < INTERVAL_MS) return
    loggedAt = now()
    logger.warn({ requestId: request.id, proxy: request.socket.remoteAddress }, MESSAGE)
  }
}
