import { write } from 'node:fs'
import { type DestinationStream, type Logger, pino } from 'pino'
import type { LogLevel } from '../config/values.ts'
import type { Event } from '../model/event.ts'
import { printableJson } from '../shared/text.ts'

// No code logs these on purpose; this protects against mistakes. The `code` of an error is not secret, the `code` of a request is.
const SECRET_NAMES = ['authorization', '["x-api-key"]', 'password', 'new_password', 'token', 'refresh', 'key', 'secretKey']
// PostgreSQL adds these to an error. They contain rows, values and statements, and so hashes.
const ROW_NAMES = ['detail', 'hint', 'where', 'query', 'parameters', 'args', 'internal_query']
const NEVER_LOGGED = [
  ...['', '*', '*.*'].flatMap((place) =>
    SECRET_NAMES.map((name) => (place === '' || name.startsWith('[') ? place + name : `${place}.${name}`)),
  ),
  ...ROW_NAMES.map((name) => `err.${name}`),
  'code',
  'body.code',
  'query.code',
]

/** Logs one JSON object per line. */
export function createLogger(level: LogLevel, destination: DestinationStream): Logger {
  const redact = { paths: NEVER_LOGGED, censor: '[hidden]' }
  return pino({ level, redact, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, destination)
}

/** Logs what was changed, by whom, and where the request came from. */
export function createEventLog(logger: Pick<Logger, 'info'>): (event: Event) => void {
  return ({ kind, at, ...details }) => logger.info({ event: kind, ...details }, kind)
}

export type LogDestination = DestinationStream & {
  /** Resolves when every line has been written or dropped. Does not resolve while the reader of a pipe does not read. */
  flushed(): Promise<void>
  /** Drops every waiting line. Resolves when no write is in progress, which a paused terminal may prevent forever. */
  close(): Promise<void>
}

const STDOUT = 1
const MAX_WAITING_CHARACTERS = 4 * 1024 * 1024
const RETRY_MS = 100

/**
 * Writes log lines outside the event loop. A log that cannot be written (a full disk, a closed pipe, a reader that does not read)
 * must not stop the service, and must not keep it from stopping: lines wait up to a limit and are then dropped, and nothing is
 * written synchronously at exit. The destination of pino would retry a closed pipe forever there.
 */
export function createLogDestination(fd = STDOUT): LogDestination {
  let lines: string[] = []
  let waitingCharacters = 0
  let batch = Buffer.alloc(0)
  let isWriting = false
  let isClosed = false
  let retry: NodeJS.Timeout | undefined
  let waiters: (() => void)[] = []

  function writeNext(): void {
    if (isWriting || retry !== undefined) return
    if (batch.length === 0 && !isClosed) {
      batch = Buffer.from(lines.join(''))
      lines = []
      waitingCharacters = 0
    }
    if (batch.length === 0 || isClosed) {
      for (const resolve of waiters) resolve()
      waiters = []
      return
    }
    isWriting = true
    write(fd, batch, onWritten)
  }

  function onWritten(error: NodeJS.ErrnoException | null, written: number): void {
    isWriting = false
    if (error?.code === 'EAGAIN' && !isClosed) {
      retry = setTimeout(() => {
        retry = undefined
        writeNext()
      }, RETRY_MS).unref()
      return
    }
    batch = error ? Buffer.alloc(0) : batch.subarray(written)
    writeNext()
  }

  function flushed(): Promise<void> {
    return new Promise((resolve) => {
      waiters.push(resolve)
      writeNext()
    })
  }

  return {
    write(line) {
      if (isClosed || waitingCharacters + line.length > MAX_WAITING_CHARACTERS) return
      // JSON may contain control characters beyond ASCII, and the log may go to a terminal.
      lines.push(printableJson(line))
      waitingCharacters += line.length
      writeNext()
    },
    flushed,
    close() {
      isClosed = true
      clearTimeout(retry)
      retry = undefined
      return flushed()
    },
  }
}
