import type { FastifyBaseLogger } from 'fastify'
import { type Config, describeSettings } from './config/load.ts'
import { sendTestMail } from './delivery/mail/test-mail.ts'
import type { MailTransport } from './delivery/mail/transport.ts'
import { createServiceChecks } from './doctor/service-checks.ts'
import { createActivityLog } from './domain/operations/activity.ts'
import { NO_OBSERVER } from './domain/operations/observer.ts'
import { createHttpApp } from './http/pipeline/create-app.ts'
import type { App } from './http/pipeline/declarations.ts'
import { auditRoutes } from './http/routes/audit/audit.routes.ts'
import { identityRoutes, offlineTokenRoutes } from './http/routes/identity/identity.routes.ts'
import { apiKeyRoutes, keyLifecycleRoutes } from './http/routes/keys/key.routes.ts'
import { devMailRoutes } from './http/routes/mail/dev-mail.routes.ts'
import { healthRoutes, metricsRoutes } from './http/routes/operations/operations.routes.ts'
import { planRoutes, usageRoutes } from './http/routes/plans/plan.routes.ts'
import { sessionRoutes } from './http/routes/sessions/session.routes.ts'
import { emailSignInRoutes } from './http/routes/sign-in/email-sign-in.routes.ts'
import { passkeyRoutes } from './http/routes/sign-in/passkey.routes.ts'
import { passwordResetRoutes } from './http/routes/sign-in/password-reset.routes.ts'
import { connectedProviderRoutes, providerRoutes } from './http/routes/sign-in/provider.routes.ts'
import { secondFactorRoutes } from './http/routes/sign-in/second-factor.routes.ts'
import { accountRoutes, handOffRoutes, verificationRoutes } from './http/routes/sign-in/sign-in.routes.ts'
import { invitationRoutes } from './http/routes/users/invitation.routes.ts'
import { emailChangeRoutes, selfDeletionRoutes, userAdministrationRoutes, userRoutes } from './http/routes/users/user.routes.ts'
import { userDataRoutes } from './http/routes/users/user-data.routes.ts'
import { explorerRoutes } from './http/web/explorer/explorer.routes.ts'
import { landingRoutes } from './http/web/landing.routes.ts'
import { createPages, type Pages } from './http/web/site/pages.ts'
import { createWebsite, type Website } from './http/web/site/website.ts'
import { createCounters } from './metrics/counters.ts'
import { NO_WEBHOOKS, type WebhookAttempts } from './metrics/measurements.ts'
import { createMetrics, type MetricsPeers, type MetricsSources } from './metrics/metrics.ts'
import { type Brand, NO_BRAND } from './model/brand.ts'
import type { KeptMails } from './model/mail.ts'
import { openBlocklist } from './security/blocklist.ts'
import type { Secrets } from './security/derived-keys.ts'
import type { Passwords } from './security/password.ts'
import type { Services } from './services.ts'
import { boundPort, isLocalService, type PublicUrl } from './shared/addresses.ts'
import { readVersion } from './shared/program.ts'
import type { MonitoredDatabase } from './storage/open.ts'
import { findOldestUnsealed } from './storage/repositories/audit/event-seal.repository.ts'
import { measureOutbox as measureMails } from './storage/repositories/mail/mail.repository.ts'
import { ping, readInstanceId } from './storage/repositories/operations/operations.repository.ts'
import { measureWebhooks } from './storage/repositories/webhooks/webhook.repository.ts'

type ObservationParts = {
  readonly db: MonitoredDatabase
  readonly now: () => number
  readonly passwords: Passwords
  readonly peers?: MetricsPeers | undefined
  readonly webhookAttempts?: (() => WebhookAttempts) | undefined
}

/** The metrics, and the counts of the status page, which the process writes to the database. The services report to the observer of both. */
type Observation = ReturnType<typeof createObservation>

export function createObservation(config: Config, parts: ObservationParts) {
  const { db, now, passwords } = parts
  const counters = createCounters(config.apiTitle)
  const metrics = config.metricsEnabled ? createMetrics(counters, metricsSources(config, parts)) : undefined
  // Without the console nobody sees the status page.
  const counts = config.consoleEnabled ? counters.activity : undefined
  const activity = createActivityLog({ db, now, counts, takeLongestQueue: passwords.takeLongestQueue })
  const counted = config.metricsEnabled || config.consoleEnabled ? counters : undefined
  return { metrics, activity, counters, counted, observer: counted?.observer ?? NO_OBSERVER }
}

type AppParts = {
  readonly db: MonitoredDatabase
  readonly secrets: Secrets
  readonly now: () => number
  readonly logger: FastifyBaseLogger
  readonly publicUrl: PublicUrl
  readonly observation: Observation
  readonly brand?: Brand | undefined
  /** The mails that the file transport keeps. */
  readonly keptMails?: KeptMails | undefined
  /** Sends the test mails of the console. */
  readonly mailTransport?: MailTransport | undefined
  /** Reads them over HTTP. */
  readonly devMailToken?: string | undefined
}

export async function buildApp(config: Config, services: Services, parts: AppParts): Promise<App> {
  const { db, publicUrl, observation } = parts
  const { corsOrigins, trustProxy } = config
  const website = buildWebsite(config, services, parts)
  const pages = createPages(website.site)
  const blocklist = await openBlocklist(config.passwordBlocklist)
  // Read once, so that the heartbeat does not query the database.
  const instanceId = await readInstanceId(db)
  const pipeline = {
    logger: parts.logger,
    authentication: services.authentication,
    corsOrigins,
    trustProxy,
    counters: observation.counted,
    limiter: services.limiter,
    pageLimiter: services.pageLimiter,
    pageSteps: website.steps,
    blocklist,
    errorPage: pages.error,
    secondFactorRule: config.secondFactor,
    now: parts.now,
  }
  return createHttpApp(pipeline, (app, routes) => {
    app.addHook('onClose', async () => blocklist?.close())
    // Failed logins that are not written yet would be lost. The shutdown does not wait for them during an outage.
    app.addHook('onClose', () => services.failedLogins.flush({ isLast: true }).catch(() => undefined))
    app.addHook('onListen', async () => publicUrl.setPort(boundPort(app.server)))
    addApiRoutes(app, services, { config, pages, publicUrl, website, now: parts.now })
    metricsRoutes(app, observation.metrics)
    healthRoutes(app, { isReady: () => ping(db), instanceId, trustProxy })
    devMailRoutes(app, devMail(config, parts))
    const version = readVersion()
    const about = () => ({ apiTitle: config.apiTitle, version, baseUrl: publicUrl.get() })
    landingRoutes(app, about, website.site)
    website.addRoutes(app)
    const isIsolated = config.consoleEnabled || config.accountPagesEnabled
    explorerRoutes(app, { apiTitle: config.apiTitle, isIsolated }, { routes, about })
  })
}

function buildWebsite(config: Config, services: Services, parts: AppParts): Website {
  const { secrets, now, brand = NO_BRAND, keptMails, observation, mailTransport } = parts
  // Loaded with the first visit: most services are never asked.
  const runChecks = async () => (await import('./doctor/examine.ts')).examineService(config, { now })
  const options = {
    ...config,
    secrets,
    brand,
    keptMails: config.smtpUrl === undefined ? keptMails : undefined,
    activity: observation.activity,
    settings: describeSettings(config),
    examine: createServiceChecks(runChecks, now),
    firstAdminToken: services.firstAdmin.token,
    sendTestMail: mailTransport && ((to: string) => sendTestMail(mailTransport, config, to, 'an admin of this service')),
  }
  return createWebsite(options, services, now)
}

/** What /dev/mail shows, where it exists: on a service for this machine only that sends no mails. */
function devMail(config: Config, { keptMails: mails, devMailToken: token }: AppParts) {
  return mails && token && config.smtpUrl === undefined && isLocalService(config) ? { mails, token } : undefined
}

type ApiParts = {
  readonly config: Config
  readonly pages: Pages
  readonly publicUrl: PublicUrl
  readonly website: Website
  readonly now: () => number
}

/** The routes of accounts, sessions, keys, other services and the audit trail, in the order of the documentation. */
function addApiRoutes(app: App, services: Services, { config, pages, publicUrl, website, now }: ApiParts): void {
  const { registration, login, passwordReset, apiKeys, limiter } = services
  accountRoutes(app, { registration, login, limiter })
  verificationRoutes(app, registration, pages)
  passwordResetRoutes(app, { passwordReset, limiter, pages, frontendUrl: config.frontendUrl })
  userRoutes(app, services, { confirmsEmail: config.confirmEmailChanges, languages: config.languages })
  emailChangeRoutes(app, services.emailChanges, pages)
  // Without it, the path answers as it does to any method that it does not have (405).
  if (config.selfDeletion) selfDeletionRoutes(app, services.ownAccount, limiter)
  userDataRoutes(app, services.productData)
  sessionRoutes(app, services.sessions)
  secondFactorRoutes(app, { ...services, rule: config.secondFactor })
  passkeyRoutes(app, services)
  emailSignInRoutes(app, services, { isDisabled: !config.emailSignIn })
  handOffRoutes(app, services, { isDisabled: !config.accountPagesEnabled })
  providerRoutes(app, { ...services, ...website, pages, publicUrl: publicUrl.get, now })
  connectedProviderRoutes(app, services.providers)
  userAdministrationRoutes(app, services.userAdministration, registration)
  // The link of an invitation opens an account page.
  invitationRoutes(app, services.invitations, { isDisabled: !config.accountPagesEnabled })
  apiKeyRoutes(app, apiKeys)
  keyLifecycleRoutes(app, apiKeys, services.leakedKeys)
  planRoutes(app, services.plans)
  usageRoutes(app, services.usage)
  identityRoutes(app, { ...services, rule: config.secondFactor })
  offlineTokenRoutes(app, services.offlineTokens, services.signingKeys, publicUrl.get)
  auditRoutes(app, services.audit)
}

function metricsSources({ webhook }: Config, parts: ObservationParts): MetricsSources {
  const { db, now, passwords, peers, webhookAttempts: attempts = NO_WEBHOOKS.attempts } = parts
  const measureOutbox: MetricsSources['measureOutbox'] = async (at, before) => {
    const mails = await measureMails(db, at, before)
    const oldest = await findOldestUnsealed(db)
    return { ...mails, sealLagSeconds: oldest === undefined || oldest > before ? 0 : (at - oldest) / 1000 }
  }
  const webhooks = webhook ? { attempts, measure: () => measureWebhooks(db, webhook.endpoint) } : NO_WEBHOOKS
  return { passwords, databaseErrors: db.errorCount, measureOutbox, webhooks, now, peers }
}
