import type { LogDestination } from './log-destination.ts'

const FLUSH_DEADLINE_MS = 500

/** Ends the process after the last log line is written, or after half a second if it cannot be. */
export async function exitAfterLog(code: number, log: LogDestination): Promise<never> {
  const deadline = Promise.withResolvers<void>()
  setTimeout(deadline.resolve, FLUSH_DEADLINE_MS)
  await Promise.race([log.flushed(), deadline.promise])
  return exitNow(code, log)
}

/** Ends the process. Node waits for a write that the operating system blocks, as in a terminal that is paused: only a kill ends that. */
export function exitNow(code: number, log: LogDestination): never {
  if (log.isWriting()) process.kill(process.pid, 'SIGKILL')
  return process.exit(code)
}
