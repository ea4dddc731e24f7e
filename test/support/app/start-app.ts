import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { buildApp, createObservation } from '../../../src/app.ts'
import { type Config, loadConfig } from '../../../src/config/load.ts'
import { createFileTransport, createKeptMails } from '../../../src/delivery/mail/file.transport.ts'
import { createMailDispatcher } from '../../../src/delivery/mail/mail.delivery.ts'
import type { MailTransport } from '../../../src/delivery/mail/transport.ts'
import { NO_LIMITS } from '../../../src/domain/values/rate-limits.ts'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import { openBranding } from '../../../src/process/branding.ts'
import { createEventLog, createLogger } from '../../../src/process/logger.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createPasswords, type Passwords } from '../../../src/security/password.ts'
import { createServices, type Parts } from '../../../src/services.ts'
import { createPublicUrl } from '../../../src/shared/addresses.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { type DatabaseKind, freshDatabase, migrateFresh, temporaryFolder } from '../databases/databases.ts'
import { requireDeclaredErrors } from '../http/declared-errors.ts'
import { stopAfter } from './cleanup.ts'
import { createClock, type TestClock } from './clock.ts'
import { countedActivity } from './counted-activity.ts'
import { createMailbox } from './mailbox.ts'

export type TestApp = Awaited<ReturnType<typeof startApp>>

export type StartOptions = {
  readonly database?: DatabaseKind
  readonly env?: Readonly<Record<string, string>>
  readonly passwords?: Passwords
  /** Whether mails are sent at once, and not only when the test opens the mailbox. */
  readonly sendsMails?: boolean
  /** What the link of the terminal contains, for the form that creates the first admin. */
  readonly firstAdminToken?: string
  readonly clock?: TestClock
  /** In place of the one that keeps mails as files. */
  readonly mailTransport?: MailTransport
}

/** Reads /dev/mail. */
export const DEV_MAIL_TOKEN = 'token-of-the-mailbox'
export const TEST_SECRET = 'Zq3vT9xLk2mN8pR5wY7bC4dF6gH1jS0u'

/** The real algorithm with parameters that are fast enough for hundreds of tests. */
export const FAST_HASHING = { memoryKiB: 64, passes: 1, maxWaitMs: 30_000 }

/** Starts the whole service on a fresh database, with a clock that the test controls. It stops when the test ends. */
export async function startApp(t: TestContext & { database?: DatabaseKind }, options: StartOptions = {}) {
  const target = await freshDatabase(t, options.database ?? t.database ?? 'sqlite')
  const config = loadConfig({ SECRET_KEY: TEST_SECRET, ...options.env, DATABASE_URL: target.setting })
  await migrateFresh(target)
  const db = await openDatabase(target)
  const clock = options.clock ?? createClock()
  const passwords = options.passwords ?? createPasswords(FAST_HASHING)
  const parts = { db, secrets: () => secretsOf(config), now: clock.now, passwords }
  /** The lines of the log. */
  const logged: string[] = []
  const logger = createLogger(config.logLevel, { write: (line) => void logged.push(line) })
  /** The services of the domain, to arrange the state that a test starts from: without limits, mails, and lines in the log. */
  const services = createServices({ ...config, rateLimits: NO_LIMITS, securityNotices: false }, parts)
  const { brand, templates } = await openBranding(config)
  /** Where the mails that the service has sent are kept. */
  const mailFolder = join(temporaryFolder(t), 'mail')
  // Usually not started: it sends, one mail after the other, when the test opens the mailbox.
  const mailTransport = options.mailTransport ?? createFileTransport(mailFolder, () => undefined)
  const mail = createMailDispatcher({
    db,
    tokens: services.tokens,
    transport: mailTransport,
    letterhead: () => ({ ...config, brand, templates }),
    now: clock.now,
    logger,
    concurrency: 1,
  })
  const { app, served, observation } = await openApp(t, config, parts, {
    app: { logger, brand, keptMails: createKeptMails(mailFolder), devMailToken: DEV_MAIL_TOKEN, mailTransport },
    services: { onEvent: createEventLog(logger), onMailQueued: mail.wake, firstAdminToken: options.firstAdminToken },
    stop: mail.stop,
  })
  if (options.sendsMails) mail.start()
  /** What the status page counts. Nothing is written until the test flushes it. */
  const activity = countedActivity(observation.activity, observation.counters)
  const { sessionUse, counting, keyUse } = served
  const mailbox = createMailbox(mail, mailFolder)
  return {
    app,
    config,
    db,
    clock,
    services,
    passwords,
    sessionUse,
    counting,
    keyUse,
    activity,
    mailbox,
    mailFolder,
    logged: logged as readonly string[],
  }
}

/** A second service on the same database with its own connections, like another process. */
export async function secondApp(t: TestContext, { config, clock }: Pick<TestApp, 'config' | 'clock'>): Promise<App> {
  const db = await openDatabase(config.database)
  const parts = { db, secrets: () => secretsOf(config), now: clock.now, passwords: createPasswords(FAST_HASHING) }
  const { app } = await openApp(t, config, parts, { app: { logger: pino({ level: 'silent' }) }, services: {} })
  return app
}

type Further = {
  readonly app: Pick<Parameters<typeof buildApp>[2], 'logger'> & Partial<Parameters<typeof buildApp>[2]>
  readonly services: Partial<Parts>
  /** Stops what uses the database beside the application. */
  readonly stop?: () => Promise<void>
}

/** The application with its services. It fails the test if a route answers with an error that it does not declare. */
async function openApp(t: TestContext, config: Config, parts: Parts & Parameters<typeof createObservation>[1], further: Further) {
  const { db, now, passwords } = parts
  const observation = createObservation(config, { db, now, passwords })
  const served = createServices(config, { ...parts, observer: observation.observer, ...further.services })
  const publicUrl = createPublicUrl(config.baseUrl)
  const app = await buildApp(config, served, { db, secrets: secretsOf(config), now, observation, publicUrl, ...further.app })
  stopAfter(t, async () => {
    await app.close()
    await further.stop?.()
    await db.close()
  })
  // After closing: a check that fails skips the steps that follow it.
  requireDeclaredErrors(t, app)
  return { app, served, observation }
}
