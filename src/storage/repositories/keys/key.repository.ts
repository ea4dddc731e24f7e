import type { ApiKey, ApiKeyChanges, KeyAccess } from '../../../model/api-key.ts'
import type { User } from '../../../model/user.ts'
import { type Bit, hotRead, type Queries, type Reads, statement, type Transaction } from '../../database.ts'
import { readUser, USER_COLUMNS, type UserValues } from '../users/user.repository.ts'

const KEY_COLUMNS = `api_keys.id, api_keys.name, api_keys.created_at, api_keys.is_active, api_keys.scopes, api_keys.access,
  api_keys.expires_at, api_keys.prefix, api_keys.last_used_at,
  (select max(retiring_secrets.expires_at) from retiring_secrets where retiring_secrets.key_id = api_keys.id) as retiring_until`

type KeyRow = {
  readonly id: string
  readonly name: string
  readonly created_at: number
  readonly is_active: Bit
  readonly scopes: string
  readonly access: KeyAccess
  readonly expires_at: number | null
  readonly prefix: string | null
  readonly last_used_at: number | null
  readonly retiring_until: number | null
}

type ListedRow = KeyRow & { readonly seq: number }

/** The owner of a key, and what decides whether the key may be used. */
export type KeyOwner = {
  readonly user: User
  readonly keyId: string
  readonly isActive: boolean
  readonly lastUsedAt: number | undefined
  readonly access: KeyAccess
  readonly scopes: readonly string[]
  /** When the secret that was looked up stops working: a former one at the latest when its overlap ends. */
  readonly expiresAt: number | undefined
}

const OWNER_COLUMNS = `${USER_COLUMNS}, api_keys.id, api_keys.is_active, api_keys.last_used_at, api_keys.access, api_keys.scopes`
// A former secret ends with its overlap, or before that with its key.
const RETIRING_EXPIRY = `
  case when api_keys.expires_at < retiring_secrets.expires_at then api_keys.expires_at else retiring_secrets.expires_at end`

type OwnerValues = readonly [
  ...UserValues,
  keyId: string,
  isActive: Bit,
  lastUsedAt: number | null,
  access: KeyAccess,
  scopes: string,
  expiresAt: number | null,
]

const FIND_OWNER = hotRead(
  `select ${OWNER_COLUMNS}, api_keys.expires_at from api_keys join users on users.id = api_keys.user_id where api_keys.key_hash = $1`,
  ['text'],
  readOwner,
)
const FIND_RETIRING_OWNER = hotRead(
  `select ${OWNER_COLUMNS}, ${RETIRING_EXPIRY} from retiring_secrets join api_keys on api_keys.id = retiring_secrets.key_id
  join users on users.id = api_keys.user_id where retiring_secrets.key_hash = $1 and retiring_secrets.expires_at > $2`,
  ['text', 'bigint'],
  readOwner,
)
const COUNT = statement<{ count: number }>('select count(*) as count from api_keys where user_id = $1')
const RECORD_USE = statement(`
  update api_keys set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)`)
const INSERT = statement(`
  insert into api_keys (id, user_id, name, key_hash, scopes, created_at, access, expires_at, prefix)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`)
const LIST_AFTER = statement<ListedRow>(`
  select ${KEY_COLUMNS}, seq from api_keys where user_id = $1 and seq > $2 order by seq limit $3`)
const FIND = statement<KeyRow>(`select ${KEY_COLUMNS} from api_keys where id = $1 and user_id = $2`)
const UPDATE = statement<KeyRow>(`
  update api_keys set name = coalesce($3, name), is_active = coalesce($4, is_active), expires_at = case when $5 then $6 else expires_at end
  where id = $1 and user_id = $2 returning ${KEY_COLUMNS}`)
const DISABLE = statement('update api_keys set is_active = false where id = $1 and is_active')
const FIND_HASH = statement<{ key_hash: string }>('select key_hash from api_keys where id = $1 and user_id = $2')
const REPLACE_SECRET = statement('update api_keys set key_hash = $3, prefix = $4 where id = $1 and user_id = $2')
const DELETE = statement('delete from api_keys where id = $1 and user_id = $2')
const DELETE_OF_USER = statement(`
  delete from api_keys where seq in (select seq from api_keys where user_id = $1 and id <> $3 order by seq limit $2)`)

/** The owner of a key. Authentication by API key costs this one statement. */
export function findKeyOwner(db: Reads, keyHash: string): Promise<KeyOwner | undefined> {
  return db.first(FIND_OWNER, keyHash)
}

/** The owner of a key by a secret that was replaced and has not ended yet. */
export function findRetiringKeyOwner(db: Reads, keyHash: string, now: number): Promise<KeyOwner | undefined> {
  return db.first(FIND_RETIRING_OWNER, keyHash, now)
}

export async function countApiKeys(db: Reads, userId: number): Promise<number> {
  return (await db.first(COUNT, userId))?.count ?? 0
}

/** Records a use, unless one after `unlessUsedAfter` is recorded already. */
export async function recordKeyUse(db: Queries, keyId: string, usedAt: number, unlessUsedAfter: number): Promise<void> {
  await db.run(RECORD_USE, keyId, usedAt, unlessUsedAfter)
}

export async function insertApiKey(tx: Transaction, userId: number, key: ApiKey, keyHash: string): Promise<void> {
  const { id, name, scopes, createdAt, access, expiresAt = null, prefix = null } = key
  await tx.run(INSERT, id, userId, name, keyHash, JSON.stringify(scopes), createdAt, access, expiresAt, prefix)
}

/** One page of the keys of a user, in order of creation. `last` is the sequence number of its last key. */
export type ApiKeyPage = { readonly keys: readonly ApiKey[]; readonly last: number }

/** The keys that follow a sequence number. 0 returns the first page. */
export async function listApiKeysAfter(db: Reads, userId: number, seq: number, limit: number): Promise<ApiKeyPage> {
  const rows = await db.all(LIST_AFTER, userId, seq, limit)
  return { keys: rows.map(toApiKey), last: rows.at(-1)?.seq ?? seq }
}

export async function findApiKey(db: Reads, userId: number, keyId: string): Promise<ApiKey | undefined> {
  const row = await db.first(FIND, keyId, userId)
  return row && toApiKey(row)
}

export async function updateApiKey(tx: Transaction, userId: number, keyId: string, changes: ApiKeyChanges): Promise<ApiKey | undefined> {
  const { name = null, isActive = null, expiresAt } = changes
  const row = await tx.first(UPDATE, keyId, userId, name, isActive, expiresAt !== undefined, expiresAt ?? null)
  return row && toApiKey(row)
}

/** Returns false if the key is disabled already. */
export async function disableApiKey(tx: Transaction, keyId: string): Promise<boolean> {
  return (await tx.run(DISABLE, keyId)) === 1
}

/** The hash of the current secret. */
export async function findKeyHash(tx: Transaction, userId: number, keyId: string): Promise<string | undefined> {
  return (await tx.first(FIND_HASH, keyId, userId))?.key_hash
}

export type Secret = { readonly hash: string; readonly prefix: string }

export async function replaceSecret(tx: Transaction, userId: number, keyId: string, { hash, prefix }: Secret): Promise<void> {
  await tx.run(REPLACE_SECRET, keyId, userId, hash, prefix)
}

export async function deleteApiKey(tx: Transaction, userId: number, keyId: string): Promise<boolean> {
  return (await tx.run(DELETE, keyId, userId)) === 1
}

/** Deletes at most `limit` keys of a user, the oldest first. Returns how many it deleted. */
export function deleteApiKeysOfUser(tx: Transaction, userId: number, limit: number, exceptKeyId = ''): Promise<number> {
  return tx.run(DELETE_OF_USER, userId, limit, exceptKeyId)
}

function toApiKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    isActive: Boolean(row.is_active),
    scopes: readScopes(row.scopes),
    access: row.access,
    expiresAt: row.expires_at ?? undefined,
    prefix: row.prefix ?? undefined,
    lastUsedAt: row.last_used_at ?? undefined,
    retiringUntil: row.retiring_until ?? undefined,
  }
}

function readOwner(values: OwnerValues): KeyOwner {
  return {
    user: readUser(values),
    keyId: values[7],
    isActive: Boolean(values[8]),
    lastUsedAt: values[9] ?? undefined,
    access: values[10],
    scopes: readScopes(values[11]),
    expiresAt: values[12] ?? undefined,
  }
}

/** The column holds what insertApiKey() wrote there. */
function readScopes(text: string): string[] {
  return text === '[]' ? [] : (JSON.parse(text) as string[])
}
