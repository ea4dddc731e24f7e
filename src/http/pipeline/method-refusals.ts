import type { FastifyInstance } from 'fastify'
import { sendMethodNotAllowed } from '../answers/errors.ts'
import type { Declared } from './declarations.ts'
import { ROUTED_METHODS } from './routed-methods.ts'
import type { Hook } from './steps.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on a route that refuses methods: the methods that its path accepts. */
    allow?: string
  }
}

export function supportMethods(app: FastifyInstance): void {
  for (const method of ROUTED_METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
}

/** Adds a route for each path that refuses the methods that the path does not accept (405). */
export function refuseOtherMethods(app: FastifyInstance, routes: readonly Declared[]): void {
  const methodsByUrl = Map.groupBy(routes, ({ url }) => url)
  for (const [url, declared] of methodsByUrl) {
    const methods = new Set(declared.flatMap(({ method }) => method))
    const allow = [...methods].sort().join(', ')
    const isLocal = declared.some(({ config }) => config.isLocal)
    const hasOneAddress = declared.some(({ config }) => config.hasOneAddress)
    const { queryToken, limits, page } = declared.find(({ config }) => config.queryToken !== undefined)?.config ?? {}
    app.route({
      method: ROUTED_METHODS.filter((method) => !methods.has(method)),
      url,
      exposeHeadRoute: false,
      config: {
        access: 'public',
        writes: false,
        allow,
        isLocal,
        hasOneAddress,
        queryToken,
        ...(limits && { limits }),
        ...(page && { page }),
      },
      schema: {
        response: { 405: { codes: ['method_not_allowed'] }, ...((isLocal || hasOneAddress) && { 404: { codes: ['path_not_found'] } }) },
      },
      handler: (request, reply) => sendMethodNotAllowed(request, reply, allow),
    })
  }
}

/** Refuses before the body is read, as for a path that does not exist. */
export function refuseMethod(allow: string): Hook {
  return (request, reply) => void sendMethodNotAllowed(request, reply, allow)
}
