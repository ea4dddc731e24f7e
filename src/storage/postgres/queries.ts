import { Refusal } from '../../model/refusal.ts'
import type { HotPath, Queries, Statement, StoredRow, Value } from '../database.ts'
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

type Question = {
  readonly values: readonly Value[]
  /** Resolves the look-up with its row, or with undefined where there is none. Later calls have no effect. */
  readonly settle: (found?: readonly unknown[]) => void
  readonly reject: (error: unknown) => void
}

// Few enough that no look-up waits long for the others in its statement.
const MAX_QUESTIONS = 200

/**
 * Sending a statement costs more than finding a row. The look-ups of one turn of the event loop are sent at its end as one statement, which
 * runs after all of them were requested: each result is as fresh as that of a separate statement.
 */
export function createGathering(ask: AskValues) {
  const waiting = new Map<HotPath<unknown>, Question[]>()

  function send(): void {
    for (const [hot, questions] of waiting) {
      for (let start = 0; start < questions.length; start += MAX_QUESTIONS) {
        void answer(hot, questions.slice(start, start + MAX_QUESTIONS))
      }
    }
    waiting.clear()
  }

  async function answer({ gatheredSql, types }: HotPath<unknown>, questions: readonly Question[]): Promise<void> {
    try {
      const lists = types.map((_, place) => listOf(questions.map(({ values }) => values[place])))
      for (const row of await ask(gatheredSql, lists)) questions[Number(row.at(-1)) - 1]?.settle(row)
      for (const { settle } of questions) settle()
    } catch (error) {
      for (const { reject } of questions) reject(error)
    }
  }

  return <Row>(hot: HotPath<Row>, values: readonly Value[]): Promise<Row | undefined> =>
    new Promise((resolve, reject) => {
      function settle(found?: readonly unknown[]): void {
        // A row that cannot be read fails its own look-up, not the others of the statement.
        try {
          resolve(found && hot.read(found))
        } catch (error) {
          reject(error)
        }
      }
      if (waiting.size === 0) setImmediate(send)
      const questions = waiting.get(hot)
      if (questions) questions.push({ values, settle, reject })
      else waiting.set(hot, [{ values, settle, reject }])
    })
}

const SPECIAL = /["\\]/g

/** An array in the syntax of PostgreSQL. Ids and hashes need no escapes, and one search in all of them shows it at a third of the cost. */
function listOf(items: readonly unknown[]): string {
  const isPlain = items.join('').search(SPECIAL) === -1
  const escaped = isPlain ? items : items.map((item) => String(item).replace(SPECIAL, '\\$&'))
  return `{"${escaped.join('","')}"}`
}
