import cluster from 'node:cluster'
import type { Logger } from 'pino'
import { buildApp, createObservation } from '../app.ts'
import type { Config } from '../config/load.ts'
import type { Dispatcher } from '../delivery/dispatcher.ts'
import { createKeptMails, mailFolder, openTransport } from '../delivery/mail/file.transport.ts'
import { createMailDispatcher } from '../delivery/mail/mail.delivery.ts'
import type { AttemptOutcome } from '../delivery/webhooks/webhook.delivery.ts'
import { placeText } from '../domain/audit/chain.ts'
import { pruneEvents } from '../domain/audit/retention.ts'
import { createSealer } from '../domain/audit/sealer.ts'
import { createHousekeeping } from '../domain/operations/housekeeping.ts'
import { createSecretUse } from '../domain/operations/secret-use.ts'
import { meetForeignHashes } from '../domain/sign-in/password-proof.ts'
import type { App } from '../http/pipeline/declarations.ts'
import { createPasswords } from '../security/password.ts'
import { createServices, type Services } from '../services.ts'
import { boundPort, type PublicUrl } from '../shared/addresses.ts'
import { codeOf } from '../shared/errors.ts'
import { printable } from '../shared/text.ts'
import type { MonitoredDatabase } from '../storage/open.ts'
import { openBranding } from './branding.ts'
import { type RunningService, stopServing } from './lifecycle/shutdown.ts'
import { createWorkerPeers, type StartSecrets } from './lifecycle/workers.ts'
import { createEventLog } from './logger.ts'

type ServeParts = StartSecrets & {
  readonly db: MonitoredDatabase
  readonly publicUrl: PublicUrl
  readonly logger: Logger
}

/** Builds the service, listens, and starts its background work. */
export async function serve(config: Config, parts: ServeParts): Promise<RunningService> {
  const { db, secrets, firstAdminToken, devMailToken, publicUrl, logger } = parts
  const now = Date.now
  const { brand, templates } = await openBranding(config)
  const webhookAttempts = { delivered: 0, retried: 0, failed: 0 }
  const webhooks = await openWebhooks(config, parts, webhookAttempts)
  const passwords = createPasswords()
  const peers = cluster.isWorker ? createWorkerPeers() : undefined
  const observation = createObservation(config, { db, now, passwords, peers, webhookAttempts: () => webhookAttempts })
  const log = createEventLog(logger)
  const services = createServices(config, {
    db,
    secrets: () => secrets,
    now,
    passwords,
    observer: observation.observer,
    firstAdminToken,
    onMailQueued: () => mail.wake(),
    onEvent(event) {
      log(event)
      if (config.webhook?.types.some((type) => type === event.kind)) webhooks?.wake()
    },
  })
  const mailTransport = await openTransport(config, (line) => void process.stdout.write(`${printable(line)}\n`))
  const mail = createMailDispatcher({
    db,
    tokens: services.tokens,
    transport: mailTransport,
    letterhead: () => ({ ...config, baseUrl: publicUrl.get(), brand, templates }),
    now,
    logger,
  })
  const keptMails = config.smtpUrl === undefined ? createKeptMails(mailFolder(config.database)) : undefined
  const appParts = { db, secrets, now, logger, publicUrl, observation, brand, keptMails, devMailToken, mailTransport }
  const app = await buildApp(config, services, appParts)
  await meetForeignHashes(services)
  const { secretUse, housekeeping, sealer } = createBackgroundWork(config, services, parts)
  const { activity } = observation
  await listen(app, config)
  // Do not await below: once the service listens, a stop may arrive, and the shutdown needs the parts that are returned.
  const port = boundPort(app.server)
  logger.info({ host: config.host, port }, 'listening')
  const dispatchers = webhooks ? [mail, webhooks] : [mail]
  for (const worker of [...dispatchers, secretUse, housekeeping, sealer, activity]) worker.start()
  return {
    port,
    async shutDown() {
      housekeeping.stop()
      await Promise.all([stopServing(app), ...dispatchers.map((dispatcher) => dispatcher.stop()), secretUse.stop()])
      // After the last request. An outage must not turn a shutdown into an error.
      await Promise.allSettled([services.sessionUse.flush(), services.counting.stop(), services.keyUse.flush()])
      await activity.stop()
      await sealer.stop()
      await db.close()
    },
  }
}

/** The work of the service that no request waits for, besides mails and webhooks. */
function createBackgroundWork({ auditRetentionDays }: Config, services: Services, { db, secrets, logger }: ServeParts) {
  const { changes, signingKeys, secondFactor, now } = services
  const maintain = async (isStopped: () => boolean) => {
    await signingKeys.maintain({ via: 'start' })
    await secondFactor.reseal(isStopped)
    await pruneEvents(db, secrets, auditRetentionDays, now)
  }
  return {
    secretUse: createSecretUse({
      changes,
      now,
      secrets,
      onFailure: (error) => logger.warn({ err: error }, 'the use of the secret key could not be recorded and is recorded later'),
    }),
    housekeeping: createHousekeeping(db, now, (error) => logger.warn({ err: error }, 'housekeeping failed and is tried again'), maintain),
    sealer: createSealer({
      db,
      secrets,
      now,
      onFailure: (error) => logger.error({ err: error }, 'the audit trail could not be sealed and is sealed later'),
      onHead: (head) => logger.info({ end: placeText(head) }, 'audit chain'),
    }),
  }
}

/** Loaded only where WEBHOOK_URL is set. */
async function openWebhooks(
  { webhook }: Config,
  { db, logger }: ServeParts,
  attempts: Record<AttemptOutcome, number>,
): Promise<Dispatcher | undefined> {
  if (webhook === undefined) return undefined
  const { createWebhookDispatcher } = await import('../delivery/webhooks/webhook.delivery.ts')
  return createWebhookDispatcher(webhook, { db, logger, now: Date.now, onAttempt: (outcome) => void attempts[outcome]++ })
}

async function listen(app: App, { host, port }: Config): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EADDRINUSE')
      throw new Error(`PORT: ${port} on ${host} is in use by another program; stop it, or set PORT to another number`)
    if (code === 'EACCES') throw new Error(`PORT: this user may not open port ${port}; set PORT to a number above 1023`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') throw new Error(`HOST: ${host} is not an address of this machine`)
    throw error
  }
}
