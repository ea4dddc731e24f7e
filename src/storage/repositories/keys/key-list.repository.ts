import { KEY, type OwnedApiKey } from '../../../model/api-key.ts'
import { type Reads, type Statement, type StoredRow, statement } from '../../database.ts'

type OwnedRow = StoredRow & { readonly owner_id: number; readonly owner_email: string }

const COLUMNS = `${KEY.columns}, users.id as owner_id, users.email as owner_email`
// A key that was never used counts from its creation on.
const LAST_USE = 'coalesce(api_keys.last_used_at, api_keys.created_at)'

const LIST_EXPIRED = statement<OwnedRow>(`
  select ${COLUMNS} from api_keys join users on users.id = api_keys.user_id
  where api_keys.expires_at is not null and api_keys.expires_at <= $1 order by api_keys.expires_at desc limit $2`)
const LIST_UNUSED = statement<OwnedRow>(`
  select ${COLUMNS} from api_keys join users on users.id = api_keys.user_id
  where api_keys.is_active = true and ${LAST_USE} <= $1 order by ${LAST_USE} limit $2`)

/** The latest first. */
export function listExpiredKeys(db: Reads, now: number, limit: number): Promise<OwnedApiKey[]> {
  return list(db, LIST_EXPIRED, now, limit)
}

/** Active keys whose last use was before a moment, the longest unused first. */
export function listUnusedKeys(db: Reads, before: number, limit: number): Promise<OwnedApiKey[]> {
  return list(db, LIST_UNUSED, before, limit)
}

async function list(db: Reads, declared: Statement<OwnedRow>, moment: number, limit: number): Promise<OwnedApiKey[]> {
  return (await db.all(declared, moment, limit)).map((row) => ({ ...KEY.fromRow(row), ownerId: row.owner_id, ownerEmail: row.owner_email }))
}
