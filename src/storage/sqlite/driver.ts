import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Database, declaredStatements, type Queries, type Statement, type Transaction, type Value } from '../database.ts'
import { connect, guarded, translate } from './connection.ts'
import { watchFiles } from './files.ts'
import { createReaderThread } from './reader.ts'
import { createSnapshot, NO_SNAPSHOT, type Snapshot } from './snapshot.ts'
import { createWriteQueue } from './writes.ts'

// A caller hears 503 within three seconds, whatever the disk or another process does; the third is for what else a request does.
const DEADLINE_MS = 2000

/** One writer, used by one transaction at a time, one reader, which never waits for it, and a thread for what reads long. */
export async function openSqlite(file: string, isAlone = true): Promise<Database> {
  const writer = await connect(file)
  const reader = await connect(file)
  reader.exec('pragma query_only = on')
  const snapshot = isAlone ? createSnapshot(reader) : NO_SNAPSHOT
  const read = queries(prepareAll(reader), snapshot.hold)
  const write = queries(prepareAll(writer))
  // The write lock of SQLite covers every row, so that no lock remains to be taken.
  const tx: Transaction = { ...write, lock: async () => undefined }
  const thread = createReaderThread(file, DEADLINE_MS)
  const watch = watchFiles(file, () => emptyLog(writer, snapshot))
  const writes = createWriteQueue({
    connection: writer,
    deadlineMs: DEADLINE_MS,
    beforeCommit: snapshot.release,
    requireKept: requireFiles,
  })

  /** A database that is closed has taken its log away itself, and is told as closed. */
  function requireFiles(): void {
    if (writer.isOpen) watch()
  }

  /** The rows have the shape that the statement's type declares, as with the connections of this thread. */
  async function readLong<Row>({ sqliteSql }: Statement<Row>, values: Value[]): Promise<Row[]> {
    // A thread that starts now opens what is there now.
    requireFiles()
    return thread.all(numbered(sqliteSql), bindable(values)) as Promise<Row[]>
  }

  return {
    first(statement, ...values) {
      if (statement.isLong) return readLong(statement, values).then(([row]) => row)
      return statement.isRead ? read.first(statement, ...values) : writes.add(() => write.first(statement, ...values))
    },
    all(statement, ...values) {
      if (statement.isLong) return readLong(statement, values)
      return statement.isRead ? read.all(statement, ...values) : writes.add(() => write.all(statement, ...values))
    },
    run: (statement, ...values) => writes.add(() => write.run(statement, ...values)),
    transaction: (work, options) => writes.add(() => work(tx), options?.signal),
    async close() {
      await thread.close()
      await writes.idle()
      snapshot.release()
      for (const connection of [reader, writer]) if (connection.isOpen) connection.close()
    },
  }
}

/** Whether all that is in the write-ahead log could be brought to the database file, and the log be emptied. */
function emptyLog(writer: DatabaseSync, snapshot: Snapshot): boolean {
  if (writer.isTransaction) return false
  try {
    snapshot.release()
    return writer.prepare('pragma wal_checkpoint(truncate)').get()?.['busy'] === 0
  } catch {
    return false
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
