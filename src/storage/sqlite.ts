import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Database, declaredStatements, type Queries, type Statement, type Transaction, type Value } from './database.ts'
import { begin, commit, connect, deadlineIn, guarded, translate, whenNotBusy } from './sqlite-connection.ts'
import { createReaderThread } from './sqlite-reader.ts'
import { createSnapshot, NO_SNAPSHOT } from './sqlite-snapshot.ts'

// A caller hears 503 within three seconds, whatever another process does to the file; the third is for what else a request does.
const BUSY_DEADLINE_MS = 2000

/** One writer, used by one transaction at a time, one reader, which never waits for it, and a thread for what reads long. */
export async function openSqlite(file: string, isAlone = true): Promise<Database> {
  const writer = await connect(file)
  const reader = await connect(file)
  reader.exec('pragma query_only = on')
  const snapshot = isAlone ? createSnapshot(reader) : NO_SNAPSHOT
  const read = queries(prepareAll(reader), snapshot.hold)
  const write = queries(prepareAll(writer))
  const thread = createReaderThread(file, BUSY_DEADLINE_MS)
  let writerIsFree: Promise<unknown> = Promise.resolve()

  /** The deadline counts from now: who stands in a queue behind a lock does not wait once more for it. */
  function exclusively<Result>(work: (deadline: number) => Promise<Result>): Promise<Result> {
    const deadline = deadlineIn(BUSY_DEADLINE_MS)
    const result = writerIsFree.then(() => work(deadline))
    writerIsFree = result.catch(() => undefined)
    return result
  }

  function change<Result>(work: () => Promise<Result>): Promise<Result> {
    return exclusively((deadline) =>
      whenNotBusy(() => {
        snapshot.release()
        return work()
      }, deadline),
    )
  }

  async function transaction<Result>(work: (tx: Transaction) => Promise<Result>, deadline: number): Promise<Result> {
    await begin(writer, deadline)
    try {
      // The write lock of SQLite covers every row, so that no lock remains to be taken.
      const result = await work({ ...write, lock: async () => undefined })
      snapshot.release()
      commit(writer)
      return result
    } catch (error) {
      // A failed commit may have ended the transaction already.
      if (writer.isTransaction) writer.exec('rollback')
      throw error
    }
  }

  /** The rows have the shape that the statement's type declares, as with the connections of this thread. */
  function readLong<Row>({ sqliteSql }: Statement<Row>, values: Value[]): Promise<Row[]> {
    return thread.all(numbered(sqliteSql), bindable(values)) as Promise<Row[]>
  }

  return {
    first(statement, ...values) {
      if (statement.isLong) return readLong(statement, values).then(([row]) => row)
      return statement.isRead ? read.first(statement, ...values) : change(() => write.first(statement, ...values))
    },
    all(statement, ...values) {
      if (statement.isLong) return readLong(statement, values)
      return statement.isRead ? read.all(statement, ...values) : change(() => write.all(statement, ...values))
    },
    run: (statement, ...values) => change(() => write.run(statement, ...values)),
    transaction: (work) => exclusively((deadline) => transaction(work, deadline)),
    async close() {
      await Promise.all([writerIsFree, thread.close()])
      snapshot.release()
      for (const connection of [reader, writer]) if (connection.isOpen) connection.close()
    },
  }
}

type Prepared = { readonly statement: StatementSync; readonly columns: readonly string[] }

function prepareAll(connection: DatabaseSync): Prepared[] {
  return declaredStatements().map(({ sqliteSql }) => {
    const statement = connection.prepare(numbered(sqliteSql))
    // Rows come as lists: node:sqlite takes twice as long to make objects of them as toRow() does.
    statement.setReturnArrays(true)
    return { statement, columns: statement.columns().map(({ name }) => name) }
  })
}

// `$1` is a name to SQLite, `?1` is a number.
function numbered(sql: string): string {
  return sql.replace(/\$(\d+)/g, '?$1')
}

function queries(prepared: readonly Prepared[], beforeHotRead = () => {}): Queries {
  function find({ index, sql }: Statement<unknown>): Prepared {
    const found = prepared[index]
    if (found === undefined) throw new Error(`statement was declared after the database was opened: ${sql}`)
    return found
  }
  return {
    // A row has the shape that the statement's type declares; the tests of each repository hold the two together.
    async first<Row>(declared: Statement<Row>, ...values: Value[]) {
      const { statement, columns } = find(declared)
      try {
        if (declared.hot) beforeHotRead()
        const row = statement.get(...bindable(values)) as unknown[] | undefined
        return row && rowOf(declared, columns, row)
      } catch (error) {
        throw translate(error)
      }
    },
    async all<Row>(declared: Statement<Row>, ...values: Value[]) {
      const { statement, columns } = find(declared)
      try {
        const rows = statement.all(...bindable(values)) as unknown as unknown[][]
        return rows.map((row) => rowOf(declared, columns, row))
      } catch (error) {
        throw translate(error)
      }
    },
    run: async (declared, ...values) => guarded(() => Number(find(declared).statement.run(...bindable(values)).changes)),
  }
}

function rowOf<Row>({ hot }: Statement<Row>, columns: readonly string[], values: readonly unknown[]): Row {
  return hot ? hot.read(values) : (toRow(columns, values) as Row)
}

function toRow(columns: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (let place = 0; place < columns.length; place++) row[columns[place] ?? ''] = values[place]
  return row
}

// SQLite knows no booleans. Most statements have none, and their values are passed on as they are.
function bindable(values: Value[]): (string | number | null)[] {
  return values.some(isBoolean) ? values.map((value) => (isBoolean(value) ? Number(value) : value)) : (values as Exclude<Value, boolean>[])
}

function isBoolean(value: Value): value is boolean {
  return typeof value === 'boolean'
}
