import postgres from 'postgres'
import { Abandoned, Refusal } from '../../model/refusal.ts'
import { codeOf } from '../../shared/errors.ts'
import { MissingReference, UniqueViolation } from '../database.ts'

const FOREIGN_KEY_VIOLATION = '23503'
const UNIQUE_VIOLATION = '23505'
// SQLSTATE classes and codes that describe the state of the server, not a wrong statement: connection, authorization, no such database,
// rollback, resources, intervention, system; read-only, not the primary, lock not available.
const OUTAGE = /^(?:08|28|3D|40|53|57|58|XX)...$|^(?:25006|55000|55P03)$/
// Those of them that another connection or another host may not have: the server shuts down, or is not the primary any more.
const WRONG_SERVER = /^(?:08|28|3D|57P|58)|^(?:25006|55000)$/
export const LOCK_NOT_AVAILABLE = '55P03'
export const DEADLOCK_DETECTED = '40P01'
// What a standby answers when it is asked for the position of a primary.
export const NO_PRIMARY = '55000'
// A prepared statement is missing, or exists already: the connection to the server is not the one that prepared it.
const FOREIGN_CONNECTION = /^(?:26000|42P05)$/
export const ADVICE_FOR_POOLERS = 'add pooler=transaction to the query of the URL'
// The only class whose messages repeat a value: `invalid input syntax for type bigint: "…"`.
const DATA_EXCEPTION = /^22/
const UNREACHED_CODES = new Set<unknown>(['CONNECT_TIMEOUT', 'NOT_PRIMARY', 'ROOT_CERTIFICATE'])
const UNREACHED_CALLS = new Set<unknown>(['connect', 'getaddrinfo'])
const NO_TLS = /before secure TLS connection was established|wrong version number/

/** An error with a code, which `translate` takes for an outage. */
export function connectionError(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code })
}

/** Turns an error of the driver into one that the layers above know. */
export function translate(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Refusal || !('code' in error)) return error
  if (error.code === UNIQUE_VIOLATION) return new UniqueViolation(error)
  if (error.code === FOREIGN_KEY_VIOLATION) return new MissingReference(error)
  if (error instanceof postgres.PostgresError && FOREIGN_CONNECTION.test(error.code))
    return new Refusal('unavailable', `PostgreSQL: ${error.message}: behind a connection pooler, ${ADVICE_FOR_POOLERS}`, { cause: error })
  if (!(error instanceof postgres.PostgresError) || OUTAGE.test(error.code))
    return new Refusal('unavailable', `PostgreSQL: ${messageOf(error)}`, { cause: error })
  return DATA_EXCEPTION.test(error.code) ? withoutValue(error) : error
}

// After a server has declined TLS, the driver starts the handshake all the same, and the server closes the connection.
function messageOf(error: Error & { readonly code?: unknown }): string {
  const message = error.message || String(error.code)
  return NO_TLS.test(message) ? `the server offers no TLS, or closed the connection during the handshake (${message})` : message
}

/** The value may be a hash or the id of a session, and a message is logged. */
function withoutValue({ message, code }: postgres.PostgresError): Error {
  return new Error(`PostgreSQL: ${message.replace(/".*"/s, '"[hidden]"')} (${code})`)
}

/** Whether no connection could be opened: the server has received no statement, so the work can safely be tried on another host. */
export function isUnreached(error: unknown): boolean {
  // Node reports a failure to connect to several addresses of one host as an AggregateError.
  if (error instanceof AggregateError) return error.errors.every(isUnreached)
  const call = error instanceof Error && 'syscall' in error ? error.syscall : undefined
  return UNREACHED_CODES.has(codeOf(error)) || UNREACHED_CALLS.has(call)
}

/** Whether the connection is gone, and the transaction with it. */
export function isLost(error: unknown): boolean {
  return error instanceof Refusal && error.cause !== undefined && !(error.cause instanceof postgres.PostgresError)
}

/** Whether the database could not be reached. A statement that is slow, or waits for a lock, is not an outage: others succeed meanwhile. */
export function isOutage(error: unknown): boolean {
  if (error instanceof Abandoned) return false
  const isReadOnly = error instanceof Refusal && codeOf(error.cause) === '25006'
  return isLost(error) || (isWrongServer(error) && !isReadOnly)
}

/** Whether the next statement needs another connection: this one was lost, did not answer in time, or leads to the wrong server. */
export function isDoubtful(error: unknown): boolean {
  if (!(error instanceof Refusal) || error.code !== 'unavailable' || error instanceof Abandoned) return false
  return !(error.cause instanceof postgres.PostgresError) || isWrongServer(error)
}

/** Whether the server itself reports that it cannot serve. */
export function isWrongServer(error: unknown): boolean {
  return error instanceof Refusal && error.cause instanceof postgres.PostgresError && WRONG_SERVER.test(error.cause.code)
}
