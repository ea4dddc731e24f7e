import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import type { OutageLog } from './outage-log.ts'
import { shownMethod } from './routed-methods.ts'

/** What a security-relevant route does, in the words of the log. */
export type SecurityEvent =
  | 'register'
  | 'login'
  | 'logout'
  | 'verify'
  | 'password_reset'
  | 'password_reset_requested'
  | 'verification_requested'
  | 'user_edited'
  | 'password_changed'
  | 'admin_made'
  | 'user_banned'
  | 'user_unbanned'
  | 'user_deleted'
  | 'key_created'
  | 'key_changed'
  | 'key_deleted'

declare module 'fastify' {
  interface FastifyContextConfig {
    event?: SecurityEvent
  }
  interface FastifyRequest {
    readonly logger: FastifyBaseLogger
    readonly logOutage: OutageLog
  }
}

const USER_ID = /^\d{1,16}$/
const KEY_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** Whom or what a request is about. What is refused may not have been looked at yet: only what can be an id goes to the log. */
export function targetOf({ params }: FastifyRequest): number | string | undefined {
  // A request that no route took has no parameters.
  const { user_id, key_id } = (params ?? {}) as { user_id?: number | string; key_id?: string }
  if (key_id !== undefined) return KEY_ID.test(key_id) ? key_id : undefined
  return USER_ID.test(String(user_id)) ? Number(user_id) : undefined
}

/** A line for each request, for looking into a fault. The path is left out: it may hold a code. */
export function installRequestLog(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, { statusCode, elapsedTime }) => {
    const { id, method, routeOptions } = request
    request.logger.debug(
      { requestId: id, method: shownMethod(method), route: routeOptions.url, status: statusCode, ms: Math.round(elapsedTime) },
      'request',
    )
  })
}
