import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { buildApp, createObservation } from '../../../src/app.ts'
import { type Config, loadConfig } from '../../../src/config/load.ts'
import { createFileTransport, createKeptMails } from '../../../src/delivery/mail/file.transport.ts'
import { createMailDispatcher } from '../../../src/delivery/mail/mail.delivery.ts'
import type { SessionUse } from '../../../src/domain/sessions/session-use.ts'
import { NO_LIMITS } from '../../../src/domain/values/rate-limits.ts'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import { openBranding } from '../../../src/process/branding.ts'
import { createEventLog, createLogger } from '../../../src/process/logger.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createPasswords, type Passwords } from '../../../src/security/password.ts'
import { createServices, type Services } from '../../../src/services.ts'
import { createPublicUrl } from '../../../src/shared/addresses.ts'
import type { Database } from '../../../src/storage/database.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { type DatabaseKind, freshDatabase, migrateFresh, temporaryFolder } from '../databases/databases.ts'
import { requireDeclaredErrors } from '../http/declared-errors.ts'
import { createClock, type TestClock } from './clock.ts'
import { type CountedActivity, countedActivity } from './counted-activity.ts'
import { createMailbox, type Mailbox } from './mailbox.ts'

export type TestApp = {
  readonly app: App
  readonly config: Config
  readonly db: Database
  readonly clock: TestClock
  /** The services of the domain, to arrange the state that a test starts from. */
  readonly services: Services
  readonly passwords: Passwords
  /** What the service has noted about the use of sessions. */
  readonly sessionUse: SessionUse
  /** What the status page counts. Nothing is written until the test flushes it. */
  readonly activity: CountedActivity
  /** The mails that the service has sent. */
  readonly mailbox: Mailbox
  /** Where they are kept. */
  readonly mailFolder: string
  /** The lines of the log. */
  readonly logged: readonly string[]
}

export type StartOptions = {
  readonly database?: DatabaseKind
  readonly env?: Readonly<Record<string, string>>
  readonly passwords?: Passwords
  /** Whether mails are sent at once, and not only when the test opens the mailbox. */
  readonly sendsMails?: boolean
  /** What the link of the terminal contains, for the form that creates the first admin. */
  readonly firstAdminToken?: string
  readonly clock?: TestClock
}

/** Reads /dev/mail. */
export const DEV_MAIL_TOKEN = 'token-of-the-mailbox'
export const TEST_SECRET = 'Zq3vT9xLk2mN8pR5wY7bC4dF6gH1jS0u'

/** Starts the whole service on a fresh database, with a clock that the test controls. It stops when the test ends. */
export async function startApp(t: TestContext & { database?: DatabaseKind }, options: StartOptions = {}): Promise<TestApp> {
  const target = await freshDatabase(t, options.database ?? t.database ?? 'sqlite')
  const databaseUrl = target.kind === 'sqlite' ? `sqlite:${target.file}` : target.url
  const config = loadConfig({ SECRET_KEY: TEST_SECRET, ...options.env, DATABASE_URL: databaseUrl })
  await migrateFresh(target)
  const db = await openDatabase(target)
  const clock = options.clock ?? createClock()
  // The real algorithm with parameters that are fast enough for hundreds of tests.
  const passwords = options.passwords ?? createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  const secrets = secretsOf(config)
  const parts = { db, secrets: () => secrets, now: clock.now, passwords }
  const logged: string[] = []
  const logger = createLogger(config.logLevel, { write: (line) => void logged.push(line) })
  const observation = createObservation(config, { db, now: clock.now, passwords })
  const activity = countedActivity(observation.activity, observation.counters)
  // To arrange the state of a test: without limits, mails, and lines in the log.
  const services = createServices({ ...config, rateLimits: NO_LIMITS, securityNotices: false }, parts)
  const { brand, templates } = await openBranding(config)
  const mailFolder = join(temporaryFolder(t), 'mail')
  const transport = createFileTransport(mailFolder, () => undefined)
  // Usually not started: it sends, one mail after the other, when the test opens the mailbox.
  const mail = createMailDispatcher({
    db,
    tokens: services.tokens,
    transport,
    letterhead: () => ({ ...config, brand, templates }),
    now: clock.now,
    logger,
    concurrency: 1,
  })
  const served = createServices(config, {
    ...parts,
    observer: observation.observer,
    onEvent: createEventLog(logger),
    onMailQueued: mail.wake,
    firstAdminToken: options.firstAdminToken,
  })
  const { sessionUse } = served
  const app = await buildApp(config, served, {
    db,
    secrets,
    now: clock.now,
    logger,
    observation,
    publicUrl: createPublicUrl(config.baseUrl),
    brand,
    keptMails: createKeptMails(mailFolder),
    devMailToken: DEV_MAIL_TOKEN,
  })
  if (options.sendsMails) mail.start()
  t.after(async () => {
    await app.close()
    await mail.stop()
    await db.close()
  })
  requireDeclaredErrors(t, app)
  const mailbox = createMailbox(mail, mailFolder)
  return { app, config, db, clock, services, passwords, sessionUse, activity, mailbox, mailFolder, logged }
}
