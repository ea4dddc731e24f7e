import { KEY_ROW, type KeyRow, RETIRING_SECRET, type RetiringSecret } from '../../../model/api-key.ts'
import { USER_ROW, type UserRow } from '../../../model/user.ts'
import { type Reads, type StoredRow, statement } from '../../database.ts'

const COUNT = statement<{ count: number }>('select count(*) as count from users')
const LIST_USERS = statement<StoredRow>(`select ${USER_ROW.columns} from users where id > $1 order by id limit $2`)
const LIST_KEYS = statement<StoredRow>(`select ${KEY_ROW.columns} from api_keys where user_id > $1 and user_id <= $2 order by user_id, seq`)
const LIST_SECRETS = statement<StoredRow>(`
  select ${RETIRING_SECRET.columns} from retiring_secrets join api_keys on api_keys.id = retiring_secrets.key_id
  where api_keys.user_id > $1 and api_keys.user_id <= $2 and retiring_secrets.expires_at > $3 order by retiring_secrets.key_hash`)

export async function countUsers(db: Reads): Promise<number> {
  return (await db.first(COUNT))?.count ?? 0
}

/** One page of all users with their hashes, in order of id. */
export async function listExportedUsers(db: Reads, afterId: number, limit: number): Promise<UserRow[]> {
  return (await db.all(LIST_USERS, afterId, limit)).map(USER_ROW.fromRow)
}

/** The keys of the users between two ids: after the first, up to the last. */
export async function listExportedKeys(db: Reads, afterId: number, lastId: number): Promise<KeyRow[]> {
  return (await db.all(LIST_KEYS, afterId, lastId)).map(KEY_ROW.fromRow)
}

/** The former secrets of these keys that still work. */
export async function listExportedSecrets(db: Reads, afterId: number, lastId: number, now: number): Promise<RetiringSecret[]> {
  return (await db.all(LIST_SECRETS, afterId, lastId, now)).map(RETIRING_SECRET.fromRow)
}
