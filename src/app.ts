import type { FastifyBaseLogger } from 'fastify'
import type { Config } from './config/load.ts'
import { describeApi } from './http/openapi/document.ts'
import type { App } from './http/pipeline/app-type.ts'
import { createHttpApp } from './http/pipeline/create-app.ts'
import { accountRoutes } from './http/routes/accounts/account.routes.ts'
import { passwordResetRoutes } from './http/routes/accounts/password-reset.routes.ts'
import { userRoutes } from './http/routes/accounts/user.routes.ts'
import { userAdministrationRoutes } from './http/routes/accounts/user-administration.routes.ts'
import { verificationRoutes } from './http/routes/accounts/verification.routes.ts'
import { identityRoutes } from './http/routes/identity/identity.routes.ts'
import { healthRoutes } from './http/routes/operations/health.routes.ts'
import { metricsRoutes } from './http/routes/operations/metrics.routes.ts'
import { apiKeyRoutes } from './http/routes/sessions/api-key.routes.ts'
import { sessionRoutes } from './http/routes/sessions/session.routes.ts'
import { explorerRoutes } from './http/web/explorer.routes.ts'
import { landingRoutes } from './http/web/landing.routes.ts'
import { createPages } from './http/web/pages.ts'
import { createMetrics, type MetricsPeers, type MetricsSources } from './metrics/metrics.ts'
import { boundPort, type PublicUrl } from './process/public-url.ts'
import { readVersion } from './process/version.ts'
import { createPasswords, type Passwords } from './security/password.ts'
import { createServices, type Parts } from './services.ts'
import type { MonitoredDatabase } from './storage/monitored.ts'
import { readInstanceId } from './storage/repositories/instance.repository.ts'
import { measureOutbox } from './storage/repositories/outbox.repository.ts'
import { ping } from './storage/repositories/ping.ts'

export type AppParts = Parts & {
  readonly db: MonitoredDatabase
  readonly logger: FastifyBaseLogger
  readonly publicUrl: PublicUrl
  readonly peers?: MetricsPeers | undefined
}

/** The composition root: builds the services and connects the routes to them. */
export function buildApp(config: Config, parts: AppParts): App {
  const passwords = parts.passwords ?? createPasswords()
  const metrics = config.metricsEnabled ? createMetrics(config.apiTitle, metricsSources(parts, passwords)) : undefined
  const services = createServices({ ...parts, passwords, ...(metrics && { observer: metrics.observer }) })
  const { authentication, accounts, sessions, passwordReset, users, userAdministration, userSessions, apiKeys } = services
  const { corsOrigins, trustProxy, frontendUrl, apiTitle } = config
  const pages = createPages(config)
  return createHttpApp(
    { logger: parts.logger, authentication, corsOrigins, trustProxy, metrics, errorPage: pages.error },
    (app, routes) => {
      app.addHook('onListen', async () => parts.publicUrl.setPort(boundPort(app.server)))
      const version = readVersion()
      const about = () => ({ apiTitle, version, baseUrl: parts.publicUrl.get() })
      accountRoutes(app, accounts, sessions)
      verificationRoutes(app, accounts, pages)
      passwordResetRoutes(app, passwordReset, pages, frontendUrl)
      userRoutes(app, users)
      sessionRoutes(app, userSessions)
      userAdministrationRoutes(app, userAdministration)
      apiKeyRoutes(app, apiKeys)
      identityRoutes(app, services.introspection)
      metricsRoutes(app, metrics)
      let instanceId: string | undefined
      // Read once at the start, so that the heartbeat does not query the database.
      app.addHook('onReady', async () => {
        instanceId = await readInstanceId(parts.db).catch(() => undefined)
      })
      healthRoutes(
        app,
        () => ping(parts.db),
        () => instanceId,
      )
      landingRoutes(app, about)
      explorerRoutes(app, apiTitle, () => describeApi(routes, about()))
    },
  )
}

function metricsSources({ db, now, peers }: AppParts, passwords: Passwords): MetricsSources {
  return { passwords, databaseErrors: db.errorCount, measureOutbox: (at, before) => measureOutbox(db, at, before), now, peers }
}
