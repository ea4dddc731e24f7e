import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { insertRows } from '../many-rows.ts'
import { NUMBERED_TABLES, TABLES, type TableName } from '../tables.ts'
import type { TransferRole, TransferRow, TransferSide } from './transfer.ts'

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
