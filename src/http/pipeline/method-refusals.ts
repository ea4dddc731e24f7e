import type { FastifyInstance } from 'fastify'
import { sendMethodNotAllowed } from './errors.ts'
import { ROUTED_METHODS } from './routed-methods.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Stands in for a method that a path does not take. */
    isMethodRefusal?: boolean
  }
}

/** Collects the methods of each path while routes are added; the function it gives back then refuses all others (405). */
export function installMethodRefusals(app: FastifyInstance): () => void {
  const methodsByUrl = new Map<string, Set<string>>()
  for (const method of ROUTED_METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.isMethodRefusal) return
    const methods = methodsByUrl.get(url) ?? new Set()
    for (const name of [method].flat()) methods.add(name)
    methodsByUrl.set(url, methods)
  })

  return () => {
    for (const [url, methods] of methodsByUrl) {
      const allow = [...methods].sort().join(', ')
      app.route({
        method: ROUTED_METHODS.filter((method) => !methods.has(method)),
        url,
        exposeHeadRoute: false,
        config: { access: 'public', writes: false, isMethodRefusal: true },
        schema: { response: { 405: {} } },
        // Before anything of a body is read, as for a path that does not exist.
        onRequest: (_request, reply, _done) => void sendMethodNotAllowed(reply, allow),
        handler: (_request, reply) => sendMethodNotAllowed(reply, allow),
      })
    }
  }
}
