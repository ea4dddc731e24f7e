import type { DatabaseSync, StatementSync } from 'node:sqlite'
import {
  type Database,
  LONG_TRANSACTION_MS,
  type Queries,
  type Reads,
  type Statement,
  type StoredRow,
  type Transaction,
  type Value,
} from '../database.ts'
import { createGathering, type LookUp } from '../gathering.ts'
import { connect, guarded, rollBack, translate, watchFiles } from './connection.ts'
import { createReaderThread } from './reader.ts'
import { createWriteQueue } from './writes.ts'

// A request is answered with 503 within three seconds; the third one is for everything else that a request does.
const DEADLINE_MS = 2000

/**
 * One connection for writes, used by one transaction at a time; one for reads, which never waits for the first; and a thread for long reads.
 * Every read begins after it was requested, so that it sees whatever any process committed before it.
 */
export async function openSqlite(file: string): Promise<Database> {
  const writer = await connect(file)
  const reader = await connect(file)
  reader.exec('pragma query_only = on')
  const read = queries(reader)
  const write = queries(writer)
  // The write lock of SQLite covers every row, so there is nothing left to lock.
  const tx: Transaction = { ...write, lock: async () => undefined }
  const { lookUp, answerAll } = createGathering(answering(reader))
  const thread = createReaderThread(file, DEADLINE_MS)
  const checkFiles = watchFiles(file, () => emptyLog(writer))
  const writes = createWriteQueue({ connection: writer, deadlineMs: DEADLINE_MS, requireFiles, beforeBatch: answerAll })

  /** SQLite itself removes the log when the database is closed; a closed database is reported as closed. */
  function requireFiles(): void {
    if (writer.isOpen) checkFiles()
  }

  /** The rows have the shape that the type of the statement declares, as on the connections of this thread. */
  async function readLong<Row>({ sqliteSql, fromRow }: Statement<Row>, values: Value[]): Promise<Row[]> {
    // A reading thread that starts now would open the files that are there now.
    requireFiles()
    const rows = await thread.all(sqliteSql, bindable(values))
    return fromRow ? (rows as StoredRow[]).map(fromRow) : (rows as Row[])
  }

  const lists: Reads = {
    first(statement, ...values) {
      if (statement.hot) return lookUp(statement, statement.hot, values)
      if (statement.isLong) return readLong(statement, values).then(([row]) => row)
      return statement.isRead ? read.first(statement, ...values) : writes.add(() => write.first(statement, ...values))
    },
    all(statement, ...values) {
      if (statement.isLong) return readLong(statement, values)
      return statement.isRead ? read.all(statement, ...values) : writes.add(() => write.all(statement, ...values))
    },
  }

  return {
    ...lists,
    lists,
    run: (statement, ...values) => writes.add(() => write.run(statement, ...values)),
    async transaction(work, { signal, onCommit, finalStatements, isLong } = {}) {
      const result = await writes.add(
        async () => {
          const value = await work(tx)
          for (const { statement, values } of finalStatements?.() ?? []) await write.run(statement, ...values)
          return value
        },
        signal,
        isLong ? LONG_TRANSACTION_MS : undefined,
      )
      onCommit?.()
      return result
    },
    async close() {
      await thread.close()
      await writes.idle()
      answerAll()
      for (const connection of [reader, writer]) if (connection.isOpen) connection.close()
    },
  }
}

/** Moves everything in the write-ahead log to the database file. Returns whether that succeeded. */
function emptyLog(writer: DatabaseSync): boolean {
  if (writer.isTransaction) return false
  try {
    return writer.prepare('pragma wal_checkpoint(truncate)').get()?.['busy'] === 0
  } catch {
    return false
  }
}

type Prepared = { readonly statement: StatementSync; readonly columns: readonly string[] }
type Find = (declared: Statement<unknown>) => Prepared

/** Statements are prepared when they are first used: most of them never are. */
function preparing(connection: DatabaseSync): Find {
  /** By the numbers of the statements. */
  const prepared: Prepared[] = []

  function prepare({ sqliteSql }: Statement<unknown>): Prepared {
    const statement = connection.prepare(sqliteSql)
    // Rows are read as arrays: node:sqlite takes twice as long to create objects as toRow() does.
    statement.setReturnArrays(true)
    return { statement, columns: statement.columns().map(({ name }) => name) }
  }

  return (declared) => {
    const found = prepared[declared.index] ?? prepare(declared)
    prepared[declared.index] = found
    return found
  }
}

/** Answers look-ups in one transaction: to begin and end one takes as long as a look-up. */
function answering(connection: DatabaseSync): (lookUps: readonly LookUp[]) => void {
  const find = preparing(connection)
  const begin = connection.prepare('begin')
  const commit = connection.prepare('commit')

  function answer({ statement, values, settle, reject }: LookUp): void {
    try {
      settle(find(statement).statement.get(...bindable(values)) as unknown[] | undefined)
    } catch (error) {
      reject(translate(error))
    }
  }

  return (lookUps) => {
    try {
      begin.run()
      for (const lookUp of lookUps) answer(lookUp)
      commit.run()
    } catch (error) {
      for (const { reject } of lookUps) reject(translate(error))
      rollBack(connection)
    }
  }
}

function queries(connection: DatabaseSync): Queries {
  const find = preparing(connection)

  return {
    // A row has the shape that the type of the statement declares; the tests of each repository check that.
    async first<Row>(declared: Statement<Row>, ...values: Value[]) {
      try {
        const { statement, columns } = find(declared)
        const row = statement.get(...bindable(values)) as unknown[] | undefined
        return row && rowOf(declared, columns, row)
      } catch (error) {
        throw translate(error)
      }
    },
    async all<Row>(declared: Statement<Row>, ...values: Value[]) {
      return guarded(() => {
        const { statement, columns } = find(declared)
        const rows = statement.all(...bindable(values)) as unknown as unknown[][]
        return rows.map((row) => rowOf(declared, columns, row))
      })
    },
    run: async (declared, ...values) => guarded(() => Number(find(declared).statement.run(...bindable(values)).changes)),
  }
}

function rowOf<Row>({ hot, fromRow }: Statement<Row>, columns: readonly string[], values: readonly unknown[]): Row {
  if (hot) return hot.read(values)
  const row = toRow(columns, values)
  return fromRow ? fromRow(row) : (row as Row)
}

function toRow(columns: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (let place = 0; place < columns.length; place++) row[columns[place] ?? ''] = values[place]
  return row
}

// SQLite has no booleans. Most statements have none among their values, and those are passed on without a copy.
function bindable(values: Value[]): (string | number | null)[] {
  return values.some(isBoolean) ? values.map((value) => (isBoolean(value) ? Number(value) : value)) : (values as Exclude<Value, boolean>[])
}

function isBoolean(value: Value): value is boolean {
  return typeof value === 'boolean'
}
