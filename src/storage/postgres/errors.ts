import postgres from 'postgres'
import { Abandoned, Refusal } from '../../model/refusal.ts'
import { MissingReference, UniqueViolation } from '../database.ts'

const FOREIGN_KEY_VIOLATION = '23503'
const UNIQUE_VIOLATION = '23505'
// Classes and codes that tell of the server's state, not of a wrong statement: connection, authorization, no such database,
// rolled back, resources, intervention, system; read-only, lock not available.
const OUTSIDE_FAULT = /^(?:08|28|3D|40|53|57|58|XX)...$|^(?:25006|55P03)$/
// Of these, the ones after which another connection may lead to a better place: a server that ends, or is no longer the primary.
const MISPLACED = /^(?:08|28|3D|57P|58)|^25006$/
// The one class whose messages repeat a value: `invalid input syntax for type bigint: "…"`.
const DATA_EXCEPTION = /^22/

/** Turns what PostgreSQL says into words that the layers above know. */
export function translate(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Refusal || !('code' in error)) return error
  if (error.code === UNIQUE_VIOLATION) return new UniqueViolation(error)
  if (error.code === FOREIGN_KEY_VIOLATION) return new MissingReference(error)
  if (!(error instanceof postgres.PostgresError) || OUTSIDE_FAULT.test(error.code))
    return new Refusal('unavailable', `PostgreSQL: ${error.message}`, { cause: error })
  return DATA_EXCEPTION.test(error.code) ? withoutValue(error) : error
}

/** The value may be a hash or the id of a session, and a message goes to the log. */
function withoutValue({ message, code }: postgres.PostgresError): Error {
  return new Error(`PostgreSQL: ${message.replace(/".*"/s, '"[hidden]"')} (${code})`)
}

/** Whether the connection is gone, and with it the transaction. */
export function isLost(error: unknown): boolean {
  return error instanceof Refusal && error.cause !== undefined && !(error.cause instanceof postgres.PostgresError)
}

/** Whether another connection may do better: this one was lost, gave no answer in time, or leads to the wrong place. */
export function isDoubtful(error: unknown): boolean {
  if (!(error instanceof Refusal) || error.code !== 'unavailable' || error instanceof Abandoned) return false
  return !(error.cause instanceof postgres.PostgresError) || isMisplaced(error)
}

/** Whether the server itself says that it is the wrong place. */
export function isMisplaced(error: unknown): boolean {
  return error instanceof Refusal && error.cause instanceof postgres.PostgresError && MISPLACED.test(error.cause.code)
}
