import { KEY_ROW, RETIRING_SECRET } from '../model/api-key.ts'
import { WRITTEN_EVENT } from '../model/audit.ts'
import { SESSION_ROW } from '../model/session.ts'
import { USER_ROW } from '../model/user.ts'

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
