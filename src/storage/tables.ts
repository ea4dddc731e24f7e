import { KEY_ROW, RETIRING_SECRET } from '../model/api-key.ts'
import { WRITTEN_EVENT } from '../model/audit.ts'
import { SESSION_ROW } from '../model/session.ts'
import { USER_ROW } from '../model/user.ts'
import { type Statement, statement } from './database.ts'

/**
 * The tables with their columns, in the order in which they are filled: each references only tables before it. Transfers, imports and
 * exports take the columns from here.
 */
export const TABLES = {
  users: USER_ROW.columnNames,
  sessions: [...SESSION_ROW.columnNames, 'last_seen_at'],
  api_keys: ['seq', ...KEY_ROW.columnNames],
  retiring_secrets: RETIRING_SECRET.columnNames,
  signing_keys: ['id', 'public_jwk', 'private_key', 'created_at', 'signs_from', 'published_until'],
  secret_uses: ['fingerprint', 'first_used_at', 'last_used_at'],
  events: WRITTEN_EVENT.columnNames,
  event_seals: ['position', 'event_id', 'sealed_at', 'digest', 'hash', 'mac', 'mac_key'],
  audit_marks: ['name', 'position', 'hash', 'marked_at', 'mac', 'mac_key'],
  outbox: [
    'id',
    'kind',
    'recipient',
    'revision',
    'requested_at',
    'attempts',
    'due_at',
    'lease',
    'last_error',
    'failed_at',
    'address',
    'detail',
  ],
  email_changes: ['user_id', 'email', 'version', 'reset_version', 'requested_at', 'confirmed_at'],
  webhook_deliveries: [
    'id',
    'message_id',
    'type',
    'user_id',
    'key_id',
    'session_id',
    'occurred_at',
    'requested_at',
    'attempts',
    'due_at',
    'lease',
    'last_error',
    'failed_at',
  ],
  webhook_stops: ['endpoint', 'stopped_at'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type TableName = keyof typeof TABLES

/** The tables with generated ids, and the column of the id. An id is never assigned twice, not even after a transfer. */
export const NUMBERED_TABLES = {
  users: 'id',
  api_keys: 'seq',
  outbox: 'id',
  events: 'id',
  webhook_deliveries: 'id',
} as const satisfies Partial<Record<TableName, string>>

export type NumberedTable = keyof typeof NUMBERED_TABLES

type Texts = { readonly postgres: string; readonly sqlite: string }

const ID_COLUMNS: Partial<Record<TableName, string>> = NUMBERED_TABLES

/** Rows of a table that a statement gets as one JSON text, `$1`: a list of objects with the names of the columns. */
export function givenRows(table: TableName, columns: readonly string[] = TABLES[table]): Texts {
  return {
    // The row type of the table converts each value, such as 0 and 1 to a boolean.
    postgres: `select ${columns.join(', ')} from json_populate_recordset(null::${table}, $1::text::json)`,
    // SQLite would otherwise write the text of a row again for each of its columns.
    sqlite: `with given_rows as materialized (select value from json_each($1))
      select ${columns.map((column) => `value ->> '${column}' as ${column}`).join(', ')} from given_rows where true`,
  }
}

export type InsertOptions = {
  /** Whether the rows have ids. Otherwise the database generates them. */
  readonly keepsIds: boolean
  /** `on conflict` or `returning`. */
  readonly suffix?: string
}

/** The texts of an `insert` of any number of rows. */
export function insertRows(table: TableName, { keepsIds, suffix = '' }: InsertOptions): Texts {
  const idColumn = ID_COLUMNS[table]
  const columns = TABLES[table].filter((column) => keepsIds || column !== idColumn)
  const { postgres, sqlite } = givenRows(table, columns)
  const into = `insert into ${table} (${columns.join(', ')})`
  const overriding = keepsIds && idColumn !== undefined ? 'overriding system value' : ''
  return { postgres: `${into} ${overriding} ${postgres} ${suffix}`, sqlite: `${into} ${sqlite} ${suffix}` }
}

/**
 * Deletes the rows whose keys a subquery lists, such as a batch in the order of an index. PostgreSQL looks up each key: it would take the
 * batch for a large part of the table, and read all of it.
 */
export function deleteListed(table: string, key: string, list: string): Statement<unknown> {
  return statement(`delete from ${table} where ${key} = any (array(${list}))`, `delete from ${table} where ${key} in (${list})`)
}
