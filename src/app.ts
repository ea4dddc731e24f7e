import type { FastifyBaseLogger } from 'fastify'
import type { Config } from './config.ts'
import { accountRoutes } from './http/account.routes.ts'
import { apiKeyRoutes } from './http/api-key.routes.ts'
import type { App } from './http/app-type.ts'
import { createHttpApp } from './http/create-app.ts'
import { explorerRoutes } from './http/explorer.routes.ts'
import { healthRoutes } from './http/health.routes.ts'
import { landingRoutes } from './http/landing.routes.ts'
import { metricsRoutes } from './http/metrics.routes.ts'
import { collectOperations } from './http/openapi.ts'
import { createPages } from './http/pages.ts'
import { passwordResetRoutes } from './http/password-reset.routes.ts'
import { userRoutes } from './http/user.routes.ts'
import { userAdministrationRoutes } from './http/user-administration.routes.ts'
import { verificationRoutes } from './http/verification.routes.ts'
import { createMetrics, type MetricsPeers } from './metrics/metrics.ts'
import { createPasswords } from './security/password.ts'
import { boundPort, servedUrl } from './served-url.ts'
import { createServices, type Parts } from './services.ts'
import { ping } from './storage/ping.ts'
import { readVersion } from './version.ts'

export type AppParts = Parts & { readonly logger: FastifyBaseLogger; readonly peers?: MetricsPeers | undefined }

/** The composition root: joins the rules with the routes that lead to them. */
export function buildApp(config: Config, parts: AppParts): App {
  const passwords = parts.passwords ?? createPasswords()
  const metrics = config.metricsEnabled ? createMetrics(config.apiTitle, { ...parts, passwords }) : undefined
  const services = createServices({ ...parts, passwords, ...metrics })
  const { authentication, accounts, sessions, passwordReset, users, userAdministration, apiKeys } = services
  const { corsOrigins, trustProxy, frontendUrl, apiTitle } = config
  const pages = createPages(config)
  return createHttpApp({ logger: parts.logger, authentication, corsOrigins, trustProxy, metrics }, (app) => {
    const describeApi = collectOperations(app)
    const about = {
      apiTitle,
      version: readVersion(),
      get baseUrl() {
        return servedUrl(config, boundPort(app.server))
      },
    }
    accountRoutes(app, accounts, sessions)
    verificationRoutes(app, accounts, pages)
    passwordResetRoutes(app, passwordReset, pages, frontendUrl)
    userRoutes(app, users)
    userAdministrationRoutes(app, userAdministration)
    apiKeyRoutes(app, apiKeys)
    metricsRoutes(app, metrics)
    healthRoutes(app, () => ping(parts.db))
    landingRoutes(app, about)
    explorerRoutes(app, apiTitle, () => describeApi(about))
  })
}
