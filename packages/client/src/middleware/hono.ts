import type { MiddlewareHandler } from 'hono'
import { createGuard, type GuardOptions, type RequestIdentity } from './guard.ts'

/** Middleware for Hono: `app.get('/notes', latchkey({ url, scope: 'notes:read' }), (c) => c.json(c.get('identity')))`. */
export function latchkey(options: GuardOptions): MiddlewareHandler<{ Variables: { identity: RequestIdentity } }> {
  const guard = createGuard(options)
  return async (c, next) => {
    const result = await guard(c.req.raw.headers)
    if ('refusal' in result) {
      const { status, headers, body } = result.refusal
      return c.json(body, status, { ...headers })
    }
    c.set('identity', result.identity)
    return next()
  }
}
