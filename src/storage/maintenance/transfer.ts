import { createHash } from 'node:crypto'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { insertRows, NUMBERED_TABLES, type NumberedTable, TABLES, type TableName } from '../tables.ts'

/** A row in a form that both databases accept: booleans are 0 and 1, everything else is text, a number or null. */
export type TransferRow = Readonly<Record<string, string | number | null>>

export type TransferRole = 'source' | 'target'

/** The source or the target of a transfer, within one transaction. */
export type TransferSide = {
  count(table: TableName): Promise<number>
  /** All rows in batches, in any order. */
  rows(table: TableName): AsyncIterable<readonly TransferRow[]>
  insert(table: TableName, rows: readonly TransferRow[]): Promise<void>
  /** Deletes all rows. */
  clear(table: StartTable): Promise<void>
  /** The highest id that was ever assigned. */
  lastId(table: NumberedTable): Promise<number>
  setLastId(table: NumberedTable, id: number): Promise<void>
}

/** The target is not empty, or its rows differ from those of the source. */
export class TransferError extends Error {
  override readonly name = 'TransferError'
}

/** The tables that the start of a service fills, before anybody has used it. Their rows in the target are replaced. */
const START_TABLES = ['signing_keys', 'secret_uses'] as const satisfies readonly TableName[]
export type StartTable = (typeof START_TABLES)[number]

export const TABLE_NAMES = Object.keys(TABLES) as TableName[]
const START_NAMES: ReadonlySet<TableName> = new Set(START_TABLES)
const NUMBERED_NAMES = Object.keys(NUMBERED_TABLES) as NumberedTable[]

export type Moved = Readonly<Record<TableName, number>>
export type OnRows = (done: number, total: number) => void

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
    const sent = await moveTable(from, to, table, advance)
    const arrived = await digestTable(to, table, advance)
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
  const counts: Partial<Record<TableName, number>> = {}
  for (const table of TABLE_NAMES) counts[table] = await side.count(table)
  // The lines above count every table.
  return counts as Moved
}

async function moveTable(from: TransferSide, to: TransferSide, table: TableName, advance: (by: number) => void): Promise<string> {
  const digest = createDigest(table)
  for await (const rows of from.rows(table)) {
    for (const row of rows) digest.add(row)
    await to.insert(table, rows)
    advance(rows.length)
  }
  return digest.value()
}

async function digestTable(side: TransferSide, table: TableName, advance: (by: number) => void): Promise<string> {
  const digest = createDigest(table)
  for await (const rows of side.rows(table)) {
    for (const row of rows) digest.add(row)
    advance(rows.length)
  }
  return digest.value()
}

/** A digest that does not depend on the order of the rows: their number and the sum of their hashes. */
function createDigest(table: TableName) {
  let count = 0
  let sum = 0n
  return {
    add(row: TransferRow): void {
      const values = TABLES[table].map((column) => row[column])
      count++
      sum += createHash('sha256').update(JSON.stringify(values)).digest().readBigUInt64BE(0)
    },
    value: () => `${count}:${sum}`,
  }
}

const PAGE_SIZE = 500
const LOCK_TIMEOUT_MS = 5000

/** Runs the work in one transaction on a SQLite database, and rolls it back if the work throws. */
export async function withinSqlite<Result>(
  file: string,
  role: TransferRole,
  work: (side: TransferSide) => Promise<Result>,
): Promise<Result> {
  const connection = new DatabaseSync(file, { timeout: LOCK_TIMEOUT_MS, readOnly: role === 'source' })
  try {
    connection.exec(role === 'target' ? 'begin immediate' : 'begin')
    const result = await work(createSide(connection))
    connection.exec('commit')
    return result
  } finally {
    // Closing rolls back an uncommitted transaction.
    connection.close()
  }
}

function createSide(connection: DatabaseSync): TransferSide {
  const inserts = new Map<TableName, StatementSync>()
  return {
    count: async (table) => Number(connection.prepare(`select count(*) as count from ${table}`).get()?.['count']),
    async *rows(table) {
      let page: TransferRow[] = []
      const statement = connection.prepare(`select ${TABLES[table].join(', ')} from ${table}`)
      // The columns of these tables contain only text, numbers and null.
      for (const row of statement.iterate() as Iterable<TransferRow>) {
        page.push(row)
        if (page.length < PAGE_SIZE) continue
        yield page
        page = []
      }
      if (page.length > 0) yield page
    },
    async insert(table, rows) {
      const statement = inserts.get(table) ?? connection.prepare(insertRows(table, { keepsIds: true }).sqlite)
      inserts.set(table, statement)
      statement.run({ $1: JSON.stringify(rows) })
    },
    async clear(table) {
      connection.exec(`delete from ${table}`)
    },
    async lastId(table) {
      return Number(connection.prepare('select seq from sqlite_sequence where name = ?').get(table)?.['seq'] ?? 0)
    },
    async setLastId(table, id) {
      const { changes } = connection.prepare('update sqlite_sequence set seq = ? where name = ?').run(id, table)
      // SQLite creates this row when it assigns the first id, so a table that never had rows has none.
      if (changes === 0 && id > 0 && table in NUMBERED_TABLES)
        connection.prepare('insert into sqlite_sequence (seq, name) values (?, ?)').run(id, table)
    },
  }
}
