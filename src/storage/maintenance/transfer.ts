import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { type DatabaseTarget, numbered } from '../database.ts'
import { insertRows, NUMBERED_TABLES, type NumberedTable, TABLES, type TableName } from '../tables.ts'

/** A row in a form that both databases accept: booleans are 0 and 1, everything else is text, a number or null. */
export type TransferRow = Readonly<Record<string, string | number | null>>

export type TransferRole = 'source' | 'target'

/** The source or the target of a transfer, within one transaction. */
export type TransferSide = ReturnType<typeof createSide>

/** What differs between the databases. */
type TransferConnection = {
  readonly kind: DatabaseTarget['kind']
  /** Runs a statement, and returns its rows. */
  ask(sql: string, ...values: (string | number)[]): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** The rows of a statement in batches. */
  readInBatches(sql: string): AsyncIterable<readonly TransferRow[]>
  /** The highest id that was ever assigned. */
  lastId(table: NumberedTable): Promise<number>
  setLastId(table: NumberedTable, id: number): Promise<void>
}

export function createSide({ kind, ask, readInBatches, ...ids }: TransferConnection) {
  return {
    count: async (table: TableName) => Number((await ask(`select count(*) as count from ${table}`))[0]?.['count']),
    /** All rows, in any order. */
    rows: (table: TableName) => readInBatches(`select ${TABLES[table].join(', ')} from ${table}`),
    insert: async (table: TableName, rows: readonly TransferRow[]) =>
      void (await ask(insertRows(table, { keepsIds: true })[kind], JSON.stringify(rows))),
    /** Deletes all rows. */
    clear: async (table: StartTable) => void (await ask(`delete from ${table}`)),
    ...ids,
  }
}

/** The target is not empty, or its rows differ from those of the source. */
class TransferError extends Error {
  override readonly name = 'TransferError'
}

/** The tables that the start of a service fills, before anybody has used it. Their rows in the target are replaced. */
const START_TABLES = ['signing_keys', 'secret_uses'] as const satisfies readonly TableName[]
type StartTable = (typeof START_TABLES)[number]

export const TABLE_NAMES = Object.keys(TABLES) as TableName[]
const START_NAMES: ReadonlySet<TableName> = new Set(START_TABLES)
const NUMBERED_NAMES = Object.keys(NUMBERED_TABLES) as NumberedTable[]

type Moved = Readonly<Record<TableName, number>>
type OnRows = (done: number, total: number) => void

/** Copies all rows, reads them back, and throws if they differ. The caller commits or rolls back. */
export async function transfer(from: TransferSide, to: TransferSide, onRows: OnRows): Promise<Moved> {
  await requireUnused(to)
  for (const table of START_TABLES) await to.clear(table)
  const counts = await countAll(from)
  // Every row is written once and read back once.
  const total = 2 * Object.values(counts).reduce((sum, count) => sum + count, 0)
  let done = 0
  const advance = (by: number) => {
    done += by
    onRows(done, total)
  }
  for (const table of TABLE_NAMES) {
    const sent = await readThrough(from, table, async (rows) => {
      await to.insert(table, rows)
      advance(rows.length)
    })
    const arrived = await readThrough(to, table, (rows) => advance(rows.length))
    if (sent !== arrived) throw new TransferError(`the rows of the table ${table} differ from those of the source; nothing was copied`)
  }
  for (const table of NUMBERED_NAMES) await to.setLastId(table, await from.lastId(table))
  return counts
}

/** A service may have been started on the target, but nobody may have used it. */
async function requireUnused(side: TransferSide): Promise<void> {
  const counts = await countAll(side)
  const filled = TABLE_NAMES.filter((table) => counts[table] > 0 && !START_NAMES.has(table)).map(
    (table) => `${counts[table]} rows in ${table}`,
  )
  if (filled.length > 0) throw new TransferError(`the target is not empty: ${filled.join(', ')}; use a new database`)
}

async function countAll(side: TransferSide): Promise<Moved> {
  const counts = await Promise.all(TABLE_NAMES.map(async (table) => [table, await side.count(table)] as const))
  // Every table is counted.
  return Object.fromEntries(counts) as Moved
}

type Receive = (rows: readonly TransferRow[]) => Promise<void> | void

/** Passes on all rows of a table. Returns their number and the sum of their hashes, which do not depend on their order. */
async function readThrough(side: TransferSide, table: TableName, receive: Receive): Promise<string> {
  let count = 0
  let sum = 0n
  for await (const rows of side.rows(table)) {
    for (const row of rows) {
      const values = TABLES[table].map((column) => row[column])
      sum += createHash('sha256').update(JSON.stringify(values)).digest().readBigUInt64BE(0)
    }
    count += rows.length
    await receive(rows)
  }
  return `${count}:${sum}`
}

const PAGE_SIZE = 500
const LOCK_TIMEOUT_MS = 5000

/** Runs the work in one transaction on a SQLite database, and rolls it back if the work throws. */
export async function withinSqlite<Result>(
  file: string,
  role: TransferRole,
  work: (side: TransferSide) => Promise<Result>,
): Promise<Result> {
  using connection = new DatabaseSync(file, { timeout: LOCK_TIMEOUT_MS, readOnly: role === 'source' })
  // Closing rolls back an uncommitted transaction.
  connection.exec(role === 'target' ? 'begin immediate' : 'begin')
  const result = await work(sqliteSide(connection))
  connection.exec('commit')
  return result
}

function sqliteSide(connection: DatabaseSync): TransferSide {
  return createSide({
    kind: 'sqlite',
    ask: async (sql, ...values) => connection.prepare(numbered(sql)).all(...values),
    async *readInBatches(sql) {
      let page: TransferRow[] = []
      // The columns of these tables contain only text, numbers and null.
      for (const row of connection.prepare(sql).iterate() as Iterable<TransferRow>) {
        page.push(row)
        if (page.length < PAGE_SIZE) continue
        yield page
        page = []
      }
      if (page.length > 0) yield page
    },
    lastId: async (table) => Number(connection.prepare('select seq from sqlite_sequence where name = ?').get(table)?.['seq'] ?? 0),
    // SQLite creates this row when it assigns the first id, so a table that never had rows has none.
    async setLastId(table, id) {
      connection.prepare('delete from sqlite_sequence where name = ?').run(table)
      if (id > 0) connection.prepare('insert into sqlite_sequence (seq, name) values (?, ?)').run(id, table)
    },
  })
}
