import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import type { Registry } from '../../metrics/registry.ts'
import { type Hook, shownMethod } from './declarations.ts'
import type { DeclaredPaths } from './declared-paths.ts'

declare module 'fastify' {
  interface FastifyRequest {
    readonly logger: FastifyBaseLogger
    readonly logOutage: OutageLog
  }
}

const USER_ID = /^\d{1,16}$/
const KEY_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** Logs a refusal: the caller, the route and the reason. A change is logged through its event, after the commit. */
export function logRefusal(error: Error, status: number, request: FastifyRequest): void {
  request.logger.info(
    {
      requestId: request.id,
      route: request.routeOptions.url,
      status,
      reason: error.message,
      actor: request.caller?.user.id,
      target: targetOf(request),
      ip: request.origin.ip,
    },
    'refused',
  )
}

/** The id of the user or key in the path. A refused request may not have been validated yet, so only a valid id is logged. */
function targetOf({ params }: FastifyRequest): number | string | undefined {
  // A request without a route has no parameters.
  const { user_id, key_id } = (params ?? {}) as { user_id?: number | string; key_id?: string }
  if (key_id !== undefined) return KEY_ID.test(key_id) ? key_id : undefined
  return USER_ID.test(String(user_id)) ? Number(user_id) : undefined
}

/** Logs each request at debug level. The path is left out, because it may contain a code. */
export function installRequestLog(app: FastifyInstance, paths: () => DeclaredPaths): void {
  app.addHook('onResponse', async (request, { statusCode, elapsedTime }) => {
    const { id, method, routeOptions, raw } = request
    const route = routeOptions.url ?? paths().find(raw.url ?? '')?.url
    request.logger.debug({ requestId: id, method: shownMethod(method), route, status: statusCode, ms: Math.round(elapsedTime) }, 'request')
  })
}

/** Logs that a request was answered with 503. */
type OutageLog = (request: Pick<FastifyRequest, 'id' | 'routeOptions'>, error: Error) => void

const QUIET_MS = 1000
// There are few reasons. The limit bounds the memory in case a reason ever contains text from a client.
const MAX_REASONS = 100

/** During an outage, hundreds of requests a second fail for one reason. This logs one line a second per reason, with the number of others. */
export function createOutageLog(logger: FastifyBaseLogger, nowMs = () => performance.now()): OutageLog {
  const reasons = new Map<string, { readonly loggedAtMs: number; others: number }>()
  return ({ id, routeOptions }, { message }) => {
    const known = reasons.get(message)
    if (known && nowMs() - known.loggedAtMs < QUIET_MS) {
      known.others++
      return
    }
    if (reasons.size >= MAX_REASONS) reasons.clear()
    reasons.set(message, { loggedAtMs: nowMs(), others: 0 })
    logger.error({ requestId: id, route: routeOptions.url, reason: message, others: known?.others ?? 0 }, 'unavailable')
  }
}

const INTERVAL_MS = 60 * 60_000
const MESSAGE =
  'X-Forwarded-For arrives while TRUST_PROXY is off, so that all clients seem to have the address of the proxy; set TRUST_PROXY=true if every request passes a proxy'

/** Whether a proxy names the client of a request, and the settings say to ignore it. */
export function isForwardedUnseen({ headers }: FastifyRequest, { trustProxy }: { readonly trustProxy: boolean }): boolean {
  return !trustProxy && headers['x-forwarded-for'] !== undefined
}

type ProxyNoticeParts = {
  readonly logger: FastifyBaseLogger
  readonly trustProxy: boolean
  readonly counters?: { readonly registry: Registry } | undefined
}

/** A step that counts requests whose client address is ignored, and logs it at most once an hour. Undefined where no address is ignored. */
export function createProxyNotice({ logger, trustProxy, counters }: ProxyNoticeParts): Hook | undefined {
  const name = 'ignored_client_addresses_total'
  const ignored = counters?.registry.counter(name, 'Changes whose X-Forwarded-For was ignored, because TRUST_PROXY is off.', [])()
  if (trustProxy) return undefined
  let loggedAt = Number.NEGATIVE_INFINITY
  return (request, _reply, done) => {
    if (isForwardedUnseen(request, { trustProxy })) {
      if (ignored) ignored.value++
      if (Date.now() - loggedAt >= INTERVAL_MS) {
        loggedAt = Date.now()
        logger.warn({ requestId: request.id, proxy: request.socket.remoteAddress }, MESSAGE)
      }
    }
    done()
  }
}
