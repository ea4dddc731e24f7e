import cluster from 'node:cluster'
import type { Logger } from 'pino'
import { buildApp } from '../app.ts'
import type { Config } from '../config/load.ts'
import { ensureAdmin } from '../domain/accounts/first-admin.ts'
import { createChanges } from '../domain/changes.ts'
import { createHousekeeping, type Housekeeping } from '../domain/housekeeping.ts'
import type { App } from '../http/pipeline/app-type.ts'
import { drain } from '../http/server/drain.ts'
import type { Operator } from '../model/caller.ts'
import type { Dispatcher } from '../outbox/dispatcher.ts'
import { createMailDispatcher } from '../outbox/mail-dispatcher.ts'
import { openTransport } from '../outbox/open-transport.ts'
import { createPasswords } from '../security/password.ts'
import { createTokens } from '../security/token.ts'
import type { Database } from '../storage/database.ts'
import type { MonitoredDatabase } from '../storage/monitored.ts'
import { createEventLog } from './event-log.ts'
import { createLogger } from './logger.ts'
import { openMigrated, secretKeyOf } from './open-database.ts'
import { boundPort, servedUrl } from './served-url.ts'
import { welcome } from './welcome.ts'
import { createWorkerPeers, listenForStop, STOP_SIGNALS, superviseWorkers } from './workers.ts'

const PROMOTED =
  'the account that has the address of ADMIN_EMAIL is an admin now; if it is not yours, take that back with `latchkey user revoke-admin`, and set ADMIN_EMAIL right'
const DRAIN_DEADLINE_MS = 10_000
const SWEEP_INTERVAL_MS = 50
const FLUSH_DEADLINE_MS = 500

type Running = { readonly app: App; readonly mail: Dispatcher; readonly housekeeping: Housekeeping; readonly db: Database }

/** Settings, migrations, listen: in that order, each with its own words when it fails. */
export async function startService(config: Config): Promise<void> {
  // The reader of our output may go away; that is no reason to stop.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
  const logger = createLogger(config.logLevel)
  const stopping = cluster.isWorker ? listenForStop() : undefined
  if (cluster.isPrimary) await prepare(config, logger)
  if (cluster.isPrimary && config.workers > 1) return supervise(config, logger)
  const db = await openMigrated(config, {
    onOutage: (reason) => logger.error({ reason }, 'database outage'),
    onRecovery: (outageMs) => logger.warn({ outageMs: Math.round(outageMs) }, 'database outage is over'),
  })
  try {
    const running = await run(config, db, logger)
    const stop = createStop(running, logger)
    if (stopping) stopping.call(stop)
    else for (const signal of STOP_SIGNALS) process.on(signal, stop)
    catchLastResort(running, logger)
    if (cluster.isPrimary) greet(config, boundPort(running.app.server))
  } catch (error) {
    // A database that stays open would keep the process from ending, and so would the line to the first process.
    await db.close()
    if (stopping) {
      // It ends by itself, with the words and the code of what stopped it.
      stopping.call(() => undefined)
      process.disconnect?.()
    }
    throw error
  }
}

/** What is done once for all processes, before any of them serves. */
async function prepare(config: Config, logger: Logger): Promise<void> {
  const db = await openMigrated(config)
  try {
    secretKeyOf(config)
    if (!config.admin) return
    const changes = createChanges({ db, now: Date.now, onEvent: createEventLog(logger) })
    const operator: Operator = { caller: 'operator', origin: { via: 'start' } }
    const { promoted } = await ensureAdmin({ changes, passwords: createPasswords(), now: Date.now }, operator, config.admin)
    if (promoted !== undefined) logger.warn({ userId: promoted }, PROMOTED)
  } finally {
    await db.close()
  }
}

async function supervise(config: Config, logger: Logger): Promise<void> {
  const { isInOrder } = await superviseWorkers(config.workers, logger, (port) => greet(config, port))
  exit(isInOrder ? 0 : 1, logger)
}

function greet(config: Config, port: number): void {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  process.stdout.write(welcome(config, `http://${host}:${port}`, servedUrl(config, port)))
}

async function run(config: Config, db: MonitoredDatabase, logger: Logger): Promise<Running> {
  const secretKey = secretKeyOf(config)
  const mail = createMailDispatcher({
    db,
    tokens: createTokens(secretKey, Date.now),
    transport: await openTransport(config, (line) => void process.stdout.write(`${line}\n`)),
    letterhead: {
      ...config,
      get baseUrl() {
        return servedUrl(config, boundPort(app.server))
      },
    },
    now: Date.now,
    logger,
  })
  const peers = cluster.isWorker ? createWorkerPeers() : undefined
  const app = buildApp(config, { db, secretKey, now: Date.now, logger, onEvent: createEventLog(logger), onMailQueued: mail.wake, peers })
  await listen(app, config)
  logger.info({ host: config.host, port: boundPort(app.server) }, 'listening')
  mail.start()
  const housekeeping = createHousekeeping(db, Date.now, (error) => logger.warn({ err: error }, 'housekeeping is put off'))
  housekeeping.start()
  return { app, mail, housekeeping, db }
}

async function listen(app: App, { host, port }: Config): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === 'EADDRINUSE')
      throw new Error(`PORT: ${port} on ${host} is in use by another program; stop it, or set PORT to another number`)
    if (code === 'EACCES') throw new Error(`PORT: ${port} may not be opened by this user; set PORT to a number above 1023`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') throw new Error(`HOST: ${host} is not an address of this machine`)
    throw error
  }
}

/** Stops accepting, finishes what is in flight, lets go of the database. Called a second time it ends the process at once. */
function createStop(running: Running, logger: Logger): (signal?: NodeJS.Signals) => void {
  let isStopping = false
  return (signal) => {
    if (isStopping) process.exit(1)
    isStopping = true
    logger.info({ signal }, 'stopping')
    void shutDown(running).then(
      () => {
        logger.info('stopped')
        exit(0, logger)
      },
      (error: unknown) => {
        logger.error({ err: error }, 'stopped with an error')
        exit(1, logger)
      },
    )
  }
}

async function shutDown({ app, mail, housekeeping, db }: Running): Promise<void> {
  housekeeping.stop()
  await Promise.all([stopServing(app), mail.stop()])
  await db.close()
}

async function stopServing(app: App): Promise<void> {
  const deadline = setTimeout(() => app.server.closeAllConnections(), DRAIN_DEADLINE_MS)
  await drain(app.server)
  // A connection whose request has been answered would stay open for the next one, which nobody will serve.
  const sweep = setInterval(() => app.server.closeIdleConnections(), SWEEP_INTERVAL_MS)
  await app.close()
  clearTimeout(deadline)
  clearInterval(sweep)
}

/** What no handler caught. A promise that nobody waited for is told and survived; a thrown error leaves unknown state behind. */
function catchLastResort(running: Running, logger: Logger): void {
  process.on('unhandledRejection', (reason) => logger.error({ err: reason }, 'unhandled rejection'))
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'uncaught exception, stopping')
    setTimeout(() => process.exit(1), DRAIN_DEADLINE_MS).unref()
    void shutDown(running).finally(() => exit(1, logger))
  })
}

/** Ends the process when the last line of the log is out, or when nobody takes it. */
function exit(code: number, logger: Logger): void {
  setTimeout(() => process.exit(code), FLUSH_DEADLINE_MS)
  logger.flush(() => process.exit(code))
}
