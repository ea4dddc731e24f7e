import type { FastifyBaseLogger } from 'fastify'
import type { Config } from './config.ts'
import type { App } from './http/app-type.ts'
import { createHttpApp } from './http/create-app.ts'
import { healthRoutes } from './http/health.routes.ts'
import { createServices, type Parts } from './services.ts'
import { ping } from './storage/ping.ts'

export type AppParts = Parts & { readonly logger: FastifyBaseLogger }

/** The composition root: joins the rules with the routes that lead to them. */
export function buildApp(config: Config, parts: AppParts): App {
  const { authentication } = createServices(parts)
  const { corsOrigins, trustProxy } = config
  return createHttpApp({ logger: parts.logger, authentication, corsOrigins, trustProxy }, (app) => {
    healthRoutes(app, () => ping(parts.db))
  })
}
