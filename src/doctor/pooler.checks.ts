import type { Config } from '../config/load.ts'
import { inspectPooler, type PoolerState } from '../storage/maintenance/postgres-inspection.ts'
import { type Finding, ok, warning } from './finding.ts'

const VALUES: Readonly<Record<string, string>> = {
  statement_timeout: "'5s'",
  idle_in_transaction_session_timeout: "'10s'",
  jit: 'off',
}

/** Checks that the service knows of a connection pooler between it and PostgreSQL. Other checks report a database that does not answer. */
export async function checkPooler({ database }: Config): Promise<readonly Finding[]> {
  if (database.kind === 'sqlite') return []
  const state = await inspectPooler(database.url).catch(() => undefined)
  return state === undefined ? [] : findingsOf(state)
}

function findingsOf({ isDeclared, isPresent, missing }: PoolerState): Finding[] {
  if (!isDeclared)
    return isPresent
      ? [
          warning(
            'pooler',
            'DATABASE_URL leads to a connection pooler and does not say so: requests fail if it is in transaction mode',
            'Add pooler=transaction to the query of DATABASE_URL, such as: postgres://user:password@host:6432/latchkey?pooler=transaction',
          ),
        ]
      : []
  if (!isPresent)
    return [
      warning(
        'pooler',
        'DATABASE_URL says pooler=transaction, but leads to PostgreSQL itself',
        'Remove pooler=transaction from DATABASE_URL: without a pooler, prepared statements are faster.',
      ),
    ]
  if (missing.length === 0) return [ok('pooler', 'in transaction mode, and the role has the settings that the service needs')]
  const commands = missing.map((name) => `alter role ROLE set ${name} = ${VALUES[name]};`)
  return [
    warning(
      'pooler',
      `a pooler keeps the service from setting ${missing.join(', ')}`,
      `As the role in DATABASE_URL, run: ${commands.join(' ')} then run RECONNECT in the admin console of PgBouncer.`,
    ),
  ]
}
