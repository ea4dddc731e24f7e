import type { Queries, Statement, Value } from '../database.ts'
import { type Client, DEMAND_PRIMARY, type Tx } from './connections.ts'

export const PREPARED = { prepare: true }
const PLANNED_EACH_TIME = { prepare: false }

type Rows = unknown[] & { readonly count: number }
type Asked = Pick<Statement<unknown>, 'sql' | 'hot' | 'isLong'>
type Ask = (statement: Statement<unknown>, values: Value[]) => Promise<Rows>
/** Sends a statement over a connection, or inside a transaction. */
export type AskOn = (client: Client | Tx, statement: Statement<unknown>, values: Value[]) => PromiseLike<Rows>

/** The best plan of a search depends on its term, so long reads are planned with their values: a rare term uses the index, a common one a scan. */
export function asked(client: Client | Tx, { sql, hot, isLong }: Asked, values: Value[]): PromiseLike<Rows> {
  const query = client.unsafe(sql, values, isLong ? PLANNED_EACH_TIME : PREPARED)
  return hot ? query.values() : query
}

const HAS_LOCK = /\bfor (?:no key )?update\b/i

/**
 * The same read, and an error on a standby. PostgreSQL evaluates the condition once, before it reads the first row. Statements that write
 * or lock fail on a standby without it.
 */
export function demandingPrimary(sql: string): string {
  return HAS_LOCK.test(sql) ? sql : `select * from (${sql}\n) as found where (${DEMAND_PRIMARY}) is not null`
}

/** A division by zero. */
export const POSITION_NOT_REACHED = '22012'

/**
 * The same read, and an error on a server that has not replayed the log up to the position in the parameter with this number. A server that
 * was promoted keeps the position that it had reached, and may have rows that the primary does not have.
 */
export function demandingPosition(sql: string, parameter: number): string {
  const hasReached = `coalesce(pg_is_in_recovery() and pg_last_wal_replay_lsn() >= $${parameter}::text::pg_lsn, false)`
  return `select * from (${sql}\n) as found where (select 1 / ${hasReached}::int) is not null`
}

export function queries(ask: Ask): Queries {
  return {
    // A row has the shape that the type of the statement declares; the tests of each repository check that.
    first: async <Row>(statement: Statement<Row>, ...values: Value[]) => {
      const [found] = await ask(statement, values)
      return found === undefined ? undefined : rowOf(statement, found)
    },
    // Taken out of the array of the driver, which stays in memory until a full garbage collection; the list of all users creates many.
    all: async <Row>(statement: Statement<Row>, ...values: Value[]) =>
      (await ask(statement, values)).splice(0).map((row) => rowOf(statement, row)),
    run: async (statement, ...values) => (await ask(statement, values)).count,
  }
}

function rowOf<Row>({ hot }: Statement<Row>, found: unknown): Row {
  return hot ? hot.read(found as unknown[]) : (found as Row)
}
