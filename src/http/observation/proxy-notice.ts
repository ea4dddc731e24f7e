import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { Registry } from '../../metrics/registry.ts'

const INTERVAL_MS = 60 * 60_000
const MESSAGE =
  'X-Forwarded-For arrives while TRUST_PROXY is off, so that all clients seem to have the address of the proxy; set TRUST_PROXY=true if every request passes a proxy'

/** Whether a proxy names the client of a request, and the settings say to ignore it. */
export function isForwardedUnseen({ headers }: FastifyRequest, trustProxy: boolean): boolean {
  return !trustProxy && headers['x-forwarded-for'] !== undefined
}

/** Counts requests whose client address is ignored, and logs it at most once an hour. Undefined where no address is ignored. */
export function createProxyNotice(
  logger: FastifyBaseLogger,
  trustProxy: boolean,
  metrics?: { readonly registry: Registry; readonly namespace: string } | undefined,
  now: () => number = Date.now,
): ((request: FastifyRequest) => void) | undefined {
  const name = `${metrics?.namespace}_ignored_client_addresses_total`
  const ignored = metrics?.registry.counter(name, 'Changes whose X-Forwarded-For was ignored, because TRUST_PROXY is off.', [])()
  if (trustProxy) return undefined
  let loggedAt = Number.NEGATIVE_INFINITY
  return (request) => {
    if (!isForwardedUnseen(request, trustProxy)) return
    if (ignored) ignored.value++
    if (now() - loggedAt < INTERVAL_MS) return
    loggedAt = now()
    logger.warn({ requestId: request.id, proxy: request.socket.remoteAddress }, MESSAGE)
  }
}
