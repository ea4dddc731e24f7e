import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

export type SqliteValue = string | number | null
export type ReadRequest = { readonly sql: string; readonly values: readonly SqliteValue[] }
/** An error loses its own properties between threads, so its codes are sent separately. */
export type ReadReply =
  | { readonly rows: unknown[] }
  | { readonly message: string; readonly codes: { readonly code?: unknown; readonly errcode?: unknown } }

const LOCK_TIMEOUT_MS = 1000

// The entry point of the thread that reader.ts starts with the name of the database file.
if (parentPort !== null && typeof workerData === 'string') {
  const port = parentPort
  const connection = new DatabaseSync(workerData, { readOnly: true, timeout: LOCK_TIMEOUT_MS })
  const prepared = new Map<string, StatementSync>()
  port.on('message', (request: ReadRequest) => port.postMessage(answer(connection, prepared, request)))
}

function answer(connection: DatabaseSync, prepared: Map<string, StatementSync>, { sql, values }: ReadRequest): ReadReply {
  try {
    const statement = prepared.get(sql) ?? connection.prepare(sql)
    prepared.set(sql, statement)
    return { rows: statement.all(...values) }
  } catch (error) {
    const { message, code, errcode } = error as { message?: unknown; code?: unknown; errcode?: unknown }
    return { message: String(message), codes: { code, errcode } }
  }
}
