import { KEY_ROW, RETIRING_SECRET } from '../model/api-key.ts'
import { AUDIT_MARK, EVENT_SEAL, WRITTEN_EVENT } from '../model/audit.ts'
import { snakeCase } from '../model/entity.ts'
import { PASSKEY_ROW, RECOVERY_CODE, TOTP_SECRET } from '../model/factor.ts'
import { INVITATION_ROW } from '../model/invitation.ts'
import { DELIVERY_FIELDS, MAIL_RECORD, QUEUED_MAIL } from '../model/mail.ts'
import { IDENTITY_ROW } from '../model/provider.ts'
import { SESSION_ROW } from '../model/session.ts'
import { SECRET_USE, SIGNING_KEY } from '../model/signing-key.ts'
import { KEY_USAGE, LIMIT_WINDOW } from '../model/usage.ts'
import { EMAIL_CHANGE, USER_DATA_ROW, USER_ROW } from '../model/user.ts'
import { QUEUED_WEBHOOK, WEBHOOK_STOP } from '../model/webhook.ts'
import type { SqlTexts } from './database.ts'

const DELIVERY_COLUMNS = Object.keys(DELIVERY_FIELDS).map(snakeCase)

/**
 * The tables with their columns, in the order in which they are filled: each references only tables before it. Transfers, imports and
 * exports take the columns from here.
 */
export const TABLES = {
  users: USER_ROW.columnNames,
  user_data: USER_DATA_ROW.columnNames,
  sessions: [...SESSION_ROW.columnNames, 'last_seen_at', 'confirmed_at'],
  totp_secrets: TOTP_SECRET.columnNames,
  recovery_codes: RECOVERY_CODE.columnNames,
  passkeys: PASSKEY_ROW.columnNames,
  identities: IDENTITY_ROW.columnNames,
  unproven_accounts: ['user_id'],
  api_keys: ['seq', ...KEY_ROW.columnNames],
  retiring_secrets: RETIRING_SECRET.columnNames,
  key_usage: KEY_USAGE.columnNames,
  limit_windows: LIMIT_WINDOW.columnNames,
  signing_keys: SIGNING_KEY.columnNames,
  secret_uses: SECRET_USE.columnNames,
  events: WRITTEN_EVENT.columnNames,
  event_seals: EVENT_SEAL.columnNames,
  audit_marks: ['name', ...AUDIT_MARK.columnNames],
  outbox: [...QUEUED_MAIL.columnNames, ...DELIVERY_COLUMNS],
  mail_history: MAIL_RECORD.columnNames,
  email_changes: ['user_id', ...EMAIL_CHANGE.columnNames, 'requested_at'],
  invitations: INVITATION_ROW.columnNames,
  webhook_deliveries: [...QUEUED_WEBHOOK.columnNames, ...DELIVERY_COLUMNS],
  webhook_stops: WEBHOOK_STOP.columnNames,
} as const satisfies Readonly<Record<string, readonly string[]>>

export type TableName = keyof typeof TABLES

/** The tables with generated ids, and the column of the id. An id is never assigned twice, not even after a transfer. */
export const NUMBERED_TABLES = {
  users: 'id',
  api_keys: 'seq',
  outbox: 'id',
  mail_history: 'id',
  invitations: 'id',
  events: 'id',
  webhook_deliveries: 'id',
} as const satisfies Partial<Record<TableName, string>>

export type NumberedTable = keyof typeof NUMBERED_TABLES

const ID_COLUMNS: Partial<Record<TableName, string>> = NUMBERED_TABLES

/** A text for each database, around a part that differs. */
export function around({ postgres, sqlite }: SqlTexts, sql: (part: string) => string): SqlTexts {
  return { postgres: sql(postgres), sqlite: sql(sqlite) }
}

/** A condition: one of the texts of a list that a statement gets as JSON, `$1`. PostgreSQL looks up each of them, rather than read the table. */
export const GIVEN_TEXTS: SqlTexts = {
  postgres: '= any (array(select json_array_elements_text($1::text::json)))',
  sqlite: 'in (select value from json_each($1))',
}
/** The same for a list of ids. */
export const GIVEN_IDS: SqlTexts = {
  postgres: '= any (array(select json_array_elements_text($1::text::json)::bigint))',
  sqlite: GIVEN_TEXTS.sqlite,
}

/** Rows of a table that a statement gets as one JSON text, `$1`: a list of objects with the names of the columns. */
export function givenRows(table: TableName, columns: readonly string[] = TABLES[table]): SqlTexts {
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
export function insertRows(table: TableName, { keepsIds, suffix = '' }: InsertOptions): SqlTexts {
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
export function deleteListed(table: string, key: string, list: string): SqlTexts {
  return { postgres: `delete from ${table} where ${key} = any (array(${list}))`, sqlite: `delete from ${table} where ${key} in (${list})` }
}
