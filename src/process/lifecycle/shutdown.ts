import type { Logger } from 'pino'
import type { App } from '../../http/pipeline/declarations.ts'
import { drain } from '../../http/server.ts'
import { within } from '../../shared/within.ts'
import type { LogDestination } from '../logger.ts'

const DRAIN_DEADLINE_MS = 10_000
const SWEEP_INTERVAL_MS = 50

export type RunningService = {
  readonly port: number
  /** Stops accepting connections, finishes the requests, mails and webhooks in flight, and closes the database. */
  shutDown(): Promise<void>
}

/** Where a process logs, and what has to be written before it ends. */
export type ProcessLog = { readonly logger: Logger; readonly destination: LogDestination }

export async function stopService(service: RunningService, { logger, destination }: ProcessLog, reason: string): Promise<never> {
  logger.info({ signal: reason }, 'stopping')
  try {
    await service.shutDown()
    logger.info('stopped')
    return await exitAfterLog(0, destination)
  } catch (error) {
    logger.error({ err: error }, 'stopped with an error')
    return exitAfterLog(1, destination)
  }
}

/** A rejected promise without a handler is logged, and the service continues. A thrown error leaves unknown state, so the service stops. */
export function handleUncaughtErrors(service: RunningService, { logger, destination }: ProcessLog): void {
  process.on('unhandledRejection', (reason) => logger.error({ err: reason }, 'unhandled rejection'))
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'uncaught exception, stopping')
    setTimeout(() => void exitNow(1, destination), DRAIN_DEADLINE_MS).unref()
    void service.shutDown().finally(() => exitAfterLog(1, destination))
  })
}

/** Stops accepting connections, and finishes the requests in flight. */
export async function stopServing(app: App): Promise<void> {
  const deadline = setTimeout(() => app.server.closeAllConnections(), DRAIN_DEADLINE_MS)
  await drain(app.server)
  // A keep-alive connection would stay open for a next request, which the service no longer accepts.
  const sweep = setInterval(() => app.server.closeIdleConnections(), SWEEP_INTERVAL_MS)
  await app.close()
  clearTimeout(deadline)
  clearInterval(sweep)
}

const FLUSH_DEADLINE_MS = 500
const CLOSE_DEADLINE_MS = 2000

/** Ends the process after the last log line is written, or after half a second if it cannot be. */
export async function exitAfterLog(code: number, log: LogDestination): Promise<never> {
  await within(FLUSH_DEADLINE_MS, log.flushed(), undefined)
  return exitNow(code, log)
}

/** Ends the process. While the operating system blocks a write, as a paused terminal does, Node waits: only SIGKILL ends it then. */
export async function exitNow(code: number, log: LogDestination): Promise<never> {
  const isLate = await within(CLOSE_DEADLINE_MS, log.close(), true)
  if (isLate) process.kill(process.pid, 'SIGKILL')
  return process.exit(code)
}
