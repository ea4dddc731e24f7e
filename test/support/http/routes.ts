import { channel } from 'node:diagnostics_channel'
import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify'

/** The settings that add routes. */
export const EVERY_ROUTE = {
  SELF_DELETION: 'true',
  EMAIL_SIGN_IN: 'true',
  PLANS: 'free=1000000/m pro=2000000/m',
  SIGN_IN_PROVIDERS: 'github',
  PROVIDER_GITHUB_CLIENT_ID: 'latchkey',
  PROVIDER_GITHUB_CLIENT_SECRET: 'secret',
  // Nothing listens there.
  PROVIDER_GITHUB_ISSUER: 'http://127.0.0.1:9',
} as const

/** The routes that are added while a service starts, such as `GET /users/me`, and their declarations. Routes that only refuse methods are left out. */
export async function routesDuring<Started>(
  start: () => Promise<Started>,
): Promise<{ routes: Set<string>; configs: Map<string, FastifyContextConfig>; started: Started }> {
  const added: RouteOptions[] = []
  // Fastify announces a new instance before any route is added to it.
  const initialized = channel('fastify.initialization')
  const watch = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', (route) => void added.push(route))
  }
  initialized.subscribe(watch)
  const started = await start()
  initialized.unsubscribe(watch)
  const accepting = added.filter(({ config }) => config?.allow === undefined)
  const configs = new Map(accepting.flatMap(({ method, url, config }) => [method].flat().map((name) => [`${name} ${url}`, { ...config }])))
  return { routes: new Set(configs.keys()), configs, started }
}
