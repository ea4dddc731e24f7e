import { type DestinationStream, type Logger, pino } from 'pino'
import type { LogLevel } from '../config/values.ts'

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
