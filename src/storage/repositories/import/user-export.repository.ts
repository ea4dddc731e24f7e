import type { KeyAccess } from '../../../model/api-key.ts'
import type { User } from '../../../model/user.ts'
import { type Bit, type Reads, statement } from '../../database.ts'
import { TABLES, type TableName } from '../../tables.ts'
import { toUser, type UserRow } from '../users/user.repository.ts'

type ExportedUserRow = UserRow & {
  readonly password_hash: string
  readonly created_at: number
  readonly last_login_at: number | null
}

/** A row as the database has it. An export has the same names. */
export type ExportedKeyRow = {
  readonly user_id: number
  readonly id: string
  readonly name: string
  readonly scopes: string
  readonly access: KeyAccess
  readonly is_active: Bit
  readonly created_at: number
  readonly expires_at: number | null
  readonly key_hash: string
  readonly prefix: string | null
  readonly last_used_at: number | null
}

export type ExportedSecretRow = {
  readonly key_id: string
  readonly key_hash: string
  readonly retired_at: number
  readonly expires_at: number
}

export type ExportedUser = User & { readonly passwordHash: string; readonly createdAt: number; readonly lastLoginAt: number | undefined }

const COUNT = statement<{ count: number }>('select count(*) as count from users')
const LIST_USERS = statement<ExportedUserRow>(`select ${columnsOf('users')} from users where id > $1 order by id limit $2`)
const LIST_KEYS = statement<ExportedKeyRow>(
  `select ${columnsOf('api_keys')} from api_keys where user_id > $1 and user_id <= $2 order by user_id, seq`,
)
const LIST_SECRETS = statement<ExportedSecretRow>(`
  select ${columnsOf('retiring_secrets')} from retiring_secrets join api_keys on api_keys.id = retiring_secrets.key_id
  where api_keys.user_id > $1 and api_keys.user_id <= $2 and retiring_secrets.expires_at > $3 order by retiring_secrets.key_hash`)

function columnsOf(table: TableName): string {
  return TABLES[table].map((column) => `${table}.${column}`).join(', ')
}

export async function countUsers(db: Reads): Promise<number> {
  return (await db.first(COUNT))?.count ?? 0
}

/** One page of all users with their hashes, in order of id. */
export async function listExportedUsers(db: Reads, afterId: number, limit: number): Promise<ExportedUser[]> {
  const rows = await db.all(LIST_USERS, afterId, limit)
  return rows.map((row) => ({
    ...toUser(row),
    passwordHash: row.password_hash,
    createdAt: row.created_at,
    lastLoginAt: row.last_login_at ?? undefined,
  }))
}

/** The keys of the users between two ids: after the first, up to the last. */
export function listExportedKeys(db: Reads, afterId: number, lastId: number): Promise<ExportedKeyRow[]> {
  return db.all(LIST_KEYS, afterId, lastId)
}

/** The former secrets of these keys that still work. */
export function listExportedSecrets(db: Reads, afterId: number, lastId: number, now: number): Promise<ExportedSecretRow[]> {
  return db.all(LIST_SECRETS, afterId, lastId, now)
}
