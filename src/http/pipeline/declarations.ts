import type { FastifyContextConfig, FastifySchema, RouteOptions } from 'fastify'

/** Who may call a route. `self` is the user that the path names, or an admin. */
export type Access = 'public' | 'user' | 'self' | 'admin'

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** Whether the route changes anything. */
    writes?: boolean
    /** The settings have disabled the path: it answers 404. */
    isDisabled?: boolean
  }
}

/** A route that says everything that the pipeline needs to know. */
export type Declared = RouteOptions & {
  readonly config: FastifyContextConfig & { readonly access: Access; readonly writes: boolean }
  readonly schema: FastifySchema & { readonly response: Readonly<Record<string, unknown>> }
}

/** A route that leaves out who may call it, whether it writes or what it answers does not start. */
export function requireDeclarations(route: RouteOptions): Declared {
  const { method, url, config, schema } = route
  if (config?.access === undefined) throw new Error(`${method} ${url} declares no access`)
  if (config.writes === undefined) throw new Error(`${method} ${url} does not declare whether it writes`)
  if (!schema?.response) throw new Error(`${method} ${url} declares no responses`)
  return route as Declared
}
