import { NO_TIMEOUT, setTimeouts, type Tx, withConnection } from '../postgres/connections.ts'
import { NUMBERED_TABLES } from '../tables.ts'
import { createSide, TABLE_NAMES, type TransferRole, type TransferRow, type TransferSide } from './transfer.ts'

const PAGE_SIZE = 500
// One side is idle while the other counts or reads back a large table. But a process that was suspended must not hold its locks for ever.
const IDLE_MS = 60 * 60_000

/** Runs the work in one transaction on a PostgreSQL database, and rolls it back if the work throws. */
export async function withinPostgres<Result>(
  url: string,
  role: TransferRole,
  work: (side: TransferSide) => Promise<Result>,
): Promise<Result> {
  // All reads of the source see the same state of the database.
  const mode = role === 'target' ? 'read write' : 'isolation level repeatable read read only'
  const outcome = await withConnection(url, {}, (client) =>
    client.begin(mode, async (tx) => {
      await tx.unsafe(setTimeouts(NO_TIMEOUT, IDLE_MS))
      // A service that was started too early on the target must not write during the transfer.
      if (role === 'target') await tx.unsafe(`lock table ${TABLE_NAMES.join(', ')} in access exclusive mode`)
      return { result: await work(postgresSide(tx)) }
    }),
  )
  return outcome.result
}

/** Counts the connections of other processes of the service to this database. */
export function countServiceConnections(url: string): Promise<number> {
  return withConnection(url, { statement_timeout: 5000 }, async (client) => {
    const [row] = await client<{ count: number }[]>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and application_name = 'latchkey' and pid <> pg_backend_pid()`
    return row?.count ?? 0
  })
}

function postgresSide(tx: Tx): TransferSide {
  return createSide({
    kind: 'postgres',
    ask: (sql, ...values) => tx.unsafe(sql, values),
    async *readInBatches(sql) {
      for await (const page of tx.unsafe<Record<string, unknown>[]>(sql).cursor(PAGE_SIZE)) yield page.map(plain)
    },
    async lastId(table) {
      const [row] = await tx.unsafe<{ last: number | null }[]>(
        `select last_value as last from pg_sequences
         where format('%I.%I', schemaname, sequencename)::regclass = pg_get_serial_sequence($1, $2)::regclass`,
        [table, NUMBERED_TABLES[table]],
      )
      return row?.last ?? 0
    },
    async setLastId(table, id) {
      // A sequence that was never used starts at 1.
      const sql = 'select setval(pg_get_serial_sequence($1, $2), greatest($3::bigint, 1), $3::bigint > 0)'
      await tx.unsafe(sql, [table, NUMBERED_TABLES[table], id])
    },
  })
}

function plain(row: Record<string, unknown>): TransferRow {
  // The columns contain only text, numbers, booleans and null.
  const entries = Object.entries(row) as [string, string | number | boolean | null][]
  return Object.fromEntries(entries.map(([column, value]) => [column, typeof value === 'boolean' ? Number(value) : value]))
}
