import { Refusal } from '../../model/refusal.ts'
import type { HotPath, Queries, Statement, StoredRow, Value } from '../database.ts'
import { createGathering, type LookUp } from '../gathering.ts'
import { type Client, DEMAND_PRIMARY, type Tx } from './connections.ts'
import { translate } from './errors.ts'

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

/**
 * A division by zero. The check has to be an error of the same statement: behind a pooler, the next statement may run on another server, and
 * a condition would make a server that is behind look like one that finds nothing. SQL has no other expression that raises one, and no read
 * of the service divides by a value.
 */
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

function rowOf<Row>({ hot, fromRow }: Statement<Row>, found: unknown): Row {
  if (hot) return hot.read(found as unknown[])
  return fromRow ? fromRow(found as StoredRow) : (found as Row)
}

// For one statement or transaction, whatever the state of the database. A request has its own, longer deadline.
const ANSWER_DEADLINE_MS = 2000

export type AnsweredOptions = { readonly onError?: (error: unknown) => void; readonly deadlineMs?: number | undefined }

/** Rejects at the deadline, although the work may continue, and translates errors. */
export function answered<Result>(
  work: (requireTime: () => void) => PromiseLike<Result>,
  { onError, deadlineMs = ANSWER_DEADLINE_MS }: AnsweredOptions = {},
): Promise<Result> {
  const late = () => new Refusal('unavailable', `PostgreSQL did not respond within ${deadlineMs} ms`)
  return new Promise((resolve, reject) => {
    let isLate = false
    function fail(error: unknown): void {
      clearTimeout(timer)
      reject(error)
      onError?.(error)
    }
    const timer = setTimeout(() => {
      isLate = true
      fail(late())
    }, deadlineMs)
    const requireTime = () => {
      if (isLate) throw late()
    }
    work(requireTime).then(
      (result) => {
        clearTimeout(timer)
        resolve(result)
      },
      (error) => {
        if (!isLate) fail(translate(error))
      },
    )
  })
}

/** Runs a statement, and returns its rows as lists of values. */
type AskValues = (sql: string, values: Value[]) => Promise<Iterable<readonly unknown[]>>

// PostgreSQL begins with these while the other requests of the turn are still being read. With 50 connections, 25 were a tenth faster than 50.
const MAX_LOOK_UPS = 25

/** Sends look-ups as one statement for each kind: sending a statement costs more than finding a row. */
export function createLookUps(ask: AskValues) {
  async function answer({ types, gatheredSql }: HotPath<unknown>, lookUps: readonly LookUp[]): Promise<void> {
    try {
      const lists = types.map((_, place) => listOf(lookUps.map(({ values }) => values[place])))
      for (const row of await ask(gatheredSql, lists)) lookUps[Number(row.at(-1)) - 1]?.settle(row)
      for (const { settle } of lookUps) settle()
    } catch (error) {
      for (const { reject } of lookUps) reject(error)
    }
  }

  return createGathering((lookUps) => {
    for (const [hot, all] of Map.groupBy(lookUps, ({ hot }) => hot)) void answer(hot, all)
  }, MAX_LOOK_UPS).lookUp
}

const SPECIAL = /["\\]/g

/** An array in the syntax of PostgreSQL. Ids and hashes need no escapes, and one search in all of them shows it at a third of the cost. */
function listOf(items: readonly unknown[]): string {
  const isPlain = items.join('').search(SPECIAL) === -1
  const escaped = isPlain ? items : items.map((item) => String(item).replace(SPECIAL, '\\$&'))
  return `{"${escaped.join('","')}"}`
}
