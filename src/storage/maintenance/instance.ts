import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { DatabaseTarget } from '../database-target.ts'
import { withConnection } from '../postgres/connections.ts'

const READ = 'select id from instance'
const TIMEOUT_MS = 3000

/** Reads the id of a database without changing anything. Undefined if there is no database, or if its version is too old to have an id. */
export async function findInstanceId(target: DatabaseTarget): Promise<string | undefined> {
  try {
    return target.kind === 'sqlite' ? readSqlite(target.file) : await readPostgres(target.url)
  } catch {
    return undefined
  }
}

function readSqlite(file: string): string | undefined {
  if (!existsSync(file)) return undefined
  const connection = new DatabaseSync(file, { readOnly: true, timeout: TIMEOUT_MS })
  try {
    return idOf(connection.prepare(READ).get())
  } finally {
    connection.close()
  }
}

function readPostgres(url: string): Promise<string | undefined> {
  return withConnection(url, { statement_timeout: TIMEOUT_MS }, async (client) => idOf((await client.unsafe(READ))[0]))
}

function idOf(row: unknown): string | undefined {
  // READ selects this column.
  return (row as { readonly id: string } | undefined)?.id
}
