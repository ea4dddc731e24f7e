import { type DestinationStream, type Logger, pino } from 'pino'
import type { LogLevel } from '../config/load.ts'

// Nothing logs these on purpose; this is for the day somebody does. The code of an error is no secret, that of a request is.
const SECRET_NAMES = ['authorization', '["x-api-key"]', 'password', 'new_password', 'token', 'refresh', 'key', 'secretKey']
// What PostgreSQL adds to the message of an error: rows, values and statements, and so hashes.
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

const MAX_WAITING_CHARACTERS = 4 * 1024 * 1024

/** One JSON object per line. */
export function createLogger(level: LogLevel, destination: DestinationStream = createDestination()): Logger {
  const redact = { paths: NEVER_LOGGED, censor: '[hidden]' }
  return pino({ level, redact, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, destination)
}

/**
 * A log that cannot be written (a full disk, a closed pipe, a reader that has fallen asleep) must not stop the service:
 * lines wait outside the event loop, and are dropped where too many do.
 */
function createDestination(): DestinationStream {
  const destination = pino.destination({ dest: 1, sync: false, maxLength: MAX_WAITING_CHARACTERS })
  destination.on('error', () => undefined)
  return destination
}
