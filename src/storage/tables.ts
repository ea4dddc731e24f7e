/**
 * The tables with their columns, in the order in which they are filled: each references only tables before it. Transfers, imports and
 * exports take the columns from here.
 */
export const TABLES = {
  users: [
    'id',
    'email',
    'email_key',
    'password_hash',
    'first_name',
    'last_name',
    'first_name_folded',
    'last_name_folded',
    'role',
    'banned',
    'verified',
    'email_version',
    'reset_version',
    'created_at',
    'last_login_at',
    'foreign_kind',
  ],
  sessions: ['id', 'user_id', 'created_at', 'expires_at', 'ip', 'user_agent', 'last_seen_at'],
  api_keys: [
    'seq',
    'id',
    'user_id',
    'name',
    'key_hash',
    'scopes',
    'is_active',
    'created_at',
    'last_used_at',
    'access',
    'expires_at',
    'prefix',
  ],
  retiring_secrets: ['key_hash', 'key_id', 'retired_at', 'expires_at'],
  signing_keys: ['id', 'public_jwk', 'private_key', 'created_at', 'signs_from', 'published_until'],
  secret_uses: ['fingerprint', 'first_used_at', 'last_used_at'],
  events: ['id', 'at', 'kind', 'actor', 'via', 'target', 'key_id', 'request_id', 'ip', 'detail', 'salt', 'mac', 'mac_key'],
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
