import type { LogDestination } from '../log-destination.ts'

const FLUSH_DEADLINE_MS = 500
const CLOSE_DEADLINE_MS = 2000

/** Ends the process after the last log line is written, or after half a second if it cannot be. */
export async function exitAfterLog(code: number, log: LogDestination): Promise<never> {
  await within(FLUSH_DEADLINE_MS, log.flushed())
  return exitNow(code, log)
}

/** Ends the process. While the operating system blocks a write, as a paused terminal does, Node waits: only SIGKILL ends it then. */
export async function exitNow(code: number, log: LogDestination): Promise<never> {
  const isClosed = await within(CLOSE_DEADLINE_MS, log.close())
  if (!isClosed) process.kill(process.pid, 'SIGKILL')
  return process.exit(code)
}

/** Returns false if the work has not finished by then. */
async function within(deadlineMs: number, work: Promise<void>): Promise<boolean> {
  const { promise: expired, resolve: expire } = Promise.withResolvers<boolean>()
  const timer = setTimeout(expire, deadlineMs, false)
  const isDone = await Promise.race([work.then(() => true), expired])
  clearTimeout(timer)
  return isDone
}
