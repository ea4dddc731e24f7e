import type { User } from '../model/user.ts'
import { type Bit, type Queries, statement } from './database.ts'
import { toUser, USER_COLUMNS, type UserRow } from './user.repository.ts'

const FIND_OWNER = statement<UserRow & { readonly key_id: string; readonly is_active: Bit; readonly last_used_at: number | null }>(`
  select ${USER_COLUMNS}, api_keys.id as key_id, api_keys.is_active, api_keys.last_used_at
  from api_keys join users on users.id = api_keys.user_id where api_keys.key_hash = $1`)

export type KeyOwner = { readonly user: User; readonly keyId: string; readonly isActive: boolean; readonly lastUsedAt: number | undefined }

/** The owner of a key. This is the one statement that a request with an API key costs. */
export async function findKeyOwner(db: Queries, keyHash: string): Promise<KeyOwner | undefined> {
  const row = await db.first(FIND_OWNER, keyHash)
  return row && { user: toUser(row), keyId: row.key_id, isActive: Boolean(row.is_active), lastUsedAt: row.last_used_at ?? undefined }
}
