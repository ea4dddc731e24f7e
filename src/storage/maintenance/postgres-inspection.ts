import type { DatabaseTarget } from '../database.ts'
import { openDatabase } from '../open.ts'
import { parseAddress, withConnection } from '../postgres/connections.ts'
import { readInstanceId } from '../repositories/operations/operations.repository.ts'

type PoolerState = {
  /** Whether the URL says that there is a pooler. */
  readonly isDeclared: boolean
  /** Whether there is one: it gives its clients other process ids than those of the server. */
  readonly isPresent: boolean
  /** The settings that the service would set on its own connections, and that the server does not have. */
  readonly missing: readonly string[]
}

type Row = { readonly pid: number; readonly name: string; readonly isWanted: boolean }

// A timeout of 0 means none.
const READ = `
  select pg_backend_pid() as pid, name, case name when 'jit' then setting = 'off' else setting <> '0' end as "isWanted"
  from pg_settings where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'jit') order by name`

/** Asks the server how the service reaches it. */
export function inspectPooler(url: string): Promise<PoolerState> {
  return withConnection(url, {}, async (client) => {
    const rows = await client.unsafe<Row[]>(READ)
    const missing = rows.filter(({ isWanted }) => !isWanted).map(({ name }) => name)
    return { isDeclared: parseAddress(url).isPooled, isPresent: rows[0]?.pid !== rows.state.pid, missing }
  })
}

/** Reads once from the replica, as the service would. Returns why it cannot be used, or undefined. */
export async function findReplicaProblem(target: DatabaseTarget): Promise<string | undefined> {
  const problems: string[] = []
  const db = await openDatabase(target, { onReplicaAway: (problem) => void problems.push(problem) })
  try {
    await readInstanceId(db.lists)
    return problems[0]
  } finally {
    await db.close()
  }
}
