import type { Config } from '../config/load.ts'
import { findReplicaProblem, inspectPooler } from '../storage/maintenance/postgres-inspection.ts'
import { about, type Finding, reasonOf } from './finding.ts'

const POOLER = about('pooler')
const REPLICA = about('replica')
const VALUES: Readonly<Record<string, string>> = {
  statement_timeout: "'5s'",
  idle_in_transaction_session_timeout: "'10s'",
  jit: 'off',
}

/** Checks that the service knows of a connection pooler between it and PostgreSQL. Other checks report a database that does not answer. */
export async function checkPooler({ database }: Config): Promise<readonly Finding[]> {
  if (database.kind === 'sqlite') return []
  const state = await inspectPooler(database.url).catch(() => undefined)
  if (state === undefined) return []
  const { isDeclared, isPresent, missing } = state
  if (!isDeclared)
    return isPresent
      ? POOLER.warning(
          'DATABASE_URL leads to a connection pooler and does not say so: requests fail if it is in transaction mode',
          'Add pooler=transaction to the query of DATABASE_URL, such as: postgres://user:password@host:6432/latchkey?pooler=transaction',
        )
      : []
  if (!isPresent)
    return POOLER.warning(
      'DATABASE_URL says pooler=transaction, but leads to PostgreSQL itself',
      'Remove pooler=transaction from DATABASE_URL: without a pooler, prepared statements are faster.',
    )
  if (missing.length === 0) return POOLER.ok('in transaction mode, and the role has the settings that the service needs')
  const commands = missing.map((name) => `alter role ROLE set ${name} = ${VALUES[name]};`)
  return POOLER.warning(
    `a pooler keeps the service from setting ${missing.join(', ')}`,
    `As the role in DATABASE_URL, run: ${commands.join(' ')} then run RECONNECT in the admin console of PgBouncer.`,
  )
}

const ADVICE_FOR_REPLICA =
  'Lists and searches come from the primary meanwhile. Check that the replica runs and streams from the primary of DATABASE_URL, or unset DATABASE_READ_URL.'

/** Checks the replica of DATABASE_READ_URL. */
export async function checkReplica({ database }: Config): Promise<readonly Finding[]> {
  if (database.kind === 'sqlite' || database.replicaUrl === undefined) return []
  const problem = await findReplicaProblem(database).catch(reasonOf)
  return problem === undefined ? REPLICA.ok('can be used') : REPLICA.warning(problem, ADVICE_FOR_REPLICA)
}
