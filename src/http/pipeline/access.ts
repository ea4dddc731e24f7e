import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Authentication } from '../../domain/sessions/authentication.service.ts'
import type { Caller } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'

/** Who may call a route. `self` is the user whom the path names, or an admin. */
export type Access = 'public' | 'user' | 'self' | 'admin'

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** Whether the route changes anything. */
    writes?: boolean
  }
  interface FastifyRequest {
    /** Set on every route that is not public. */
    caller: Caller
  }
}

type Guard = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

const BEARER = /^bearer(?:\s+(.*))?$/i

/** Guards each route by the access that it declares. Runs before anything of the request is parsed (401, then 403, then 422). */
export function installAccess(app: FastifyInstance, authentication: Authentication): void {
  app.decorateRequest('caller')

  const guards: Record<Access, Guard | undefined> = {
    public: undefined,
    user: async (request) => {
      request.caller = await identify(request)
    },
    self: async (request) => {
      request.caller = await identify(request)
      if (request.caller.user.role !== 'admin' && !namesCaller(request)) throw new Refusal('not_permitted')
    },
    admin: async (request) => {
      request.caller = await identify(request)
      if (request.caller.user.role !== 'admin') throw new Refusal('not_permitted')
    },
  }

  function identify({ headers }: FastifyRequest): Promise<Caller> {
    const { authorization } = headers
    // As nearly everyone writes it.
    if (authorization?.startsWith('Bearer ey')) return authentication.byToken(authorization.slice(7))
    // A bearer header always decides, even an empty or broken one (spec 5 rule 2).
    const bearer = authorization === undefined ? null : BEARER.exec(authorization)
    if (bearer) return authentication.byToken(bearer[1] ?? '')
    const key = headers['x-api-key']
    if (typeof key === 'string') return authentication.byKey(key)
    throw new Refusal('not_authenticated')
  }

  app.addHook('onRoute', (route) => {
    requireDeclarations(route)
    const guard = guards[route.config?.access ?? 'admin']
    if (guard) route.onRequest = [guard, ...[route.onRequest ?? []].flat()]
  })
}

function namesCaller({ params, caller }: FastifyRequest): boolean {
  const { user_id } = params as { user_id?: string }
  return user_id !== undefined && /^\d+$/.test(user_id) && Number(user_id) === caller.user.id
}

/** A route that does not say who may call it, or what it may answer, does not start. */
function requireDeclarations({ method, url, config, schema }: RouteOptions): void {
  if (!config?.access) throw new Error(`${method} ${url} declares no access`)
  if (config.writes === undefined) throw new Error(`${method} ${url} does not declare whether it writes`)
  if (!schema?.response) throw new Error(`${method} ${url} declares no responses`)
}
