import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { shownMethod } from '../pipeline/routed-methods.ts'
import type { OutageLog } from './outage-log.ts'

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
export function installRequestLog(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, { statusCode, elapsedTime }) => {
    const { id, method, routeOptions } = request
    request.logger.debug(
      { requestId: id, method: shownMethod(method), route: routeOptions.url, status: statusCode, ms: Math.round(elapsedTime) },
      'request',
    )
  })
}
