import {
  type ApiKey,
  type ApiKeyChanges,
  KEY,
  KEY_ROW,
  type KeyAccess,
  type OwnedApiKey,
  RETIRING_SECRET,
  type RetiringSecret,
} from '../../../model/api-key.ts'
import { entity } from '../../../model/entity.ts'
import { USER, type User } from '../../../model/user.ts'
import {
  hotRead,
  insertInto,
  type Queries,
  type Reads,
  type Statement,
  type StoredRow,
  statement,
  type Transaction,
} from '../../database.ts'
import { deleteListed } from '../../tables.ts'

type ListedRow = StoredRow & { readonly seq: number }

/** The owner of a key, and what decides whether the key may be used. */
export type KeyOwner = {
  readonly user: User
  readonly keyId: string
  readonly isActive: boolean
  readonly lastUsedAt?: number | undefined
  readonly access: KeyAccess
  readonly scopes: readonly string[]
  /** When the secret that was looked up stops working: a former one at the latest when its overlap ends. */
  readonly expiresAt: number | undefined
}

const { id, isActive, lastUsedAt, access, scopes, expiresAt } = KEY.fields
const CREDENTIAL = entity('api_keys', { id, isActive, lastUsedAt, access, scopes })
const OWNER_COLUMNS = `${USER.columns}, ${CREDENTIAL.columns}`
// A former secret ends with its overlap, or before that with its key.
const RETIRING_EXPIRY = `
  case when api_keys.expires_at < retiring_secrets.expires_at then api_keys.expires_at else retiring_secrets.expires_at end`

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
const INSERT = statement(insertInto('api_keys', KEY_ROW))
const LIST_AFTER = statement<ListedRow>(`
  select ${KEY.columns}, seq from api_keys where user_id = $1 and seq > $2 order by seq limit $3`)
const FIND = statement<StoredRow>(`select ${KEY.columns} from api_keys where id = $1 and user_id = $2`)
const UPDATE = statement<StoredRow>(`
  update api_keys set name = coalesce($3, name), is_active = coalesce($4, is_active), expires_at = case when $5 then $6 else expires_at end
  where id = $1 and user_id = $2 returning ${KEY.columns}`)
const DISABLE = statement('update api_keys set is_active = false where id = $1 and is_active')
const FIND_HASH = statement<{ key_hash: string }>('select key_hash from api_keys where id = $1 and user_id = $2')
const REPLACE_SECRET = statement('update api_keys set key_hash = $3, prefix = $4 where id = $1 and user_id = $2')
const DELETE = statement('delete from api_keys where id = $1 and user_id = $2')
const DELETE_OF_USER = statement(`
  delete from api_keys where seq in (select seq from api_keys where user_id = $1 and id <> $3 order by seq limit $2)`)

type OwnedRow = StoredRow & { readonly owner_id: number; readonly owner_email: string }

const OWNED_COLUMNS = `${KEY.columns}, users.id as owner_id, users.email as owner_email`
// A key that was never used counts from its creation on.
const LAST_USE = 'coalesce(api_keys.last_used_at, api_keys.created_at)'

const LIST_EXPIRED = statement<OwnedRow>(`
  select ${OWNED_COLUMNS} from api_keys join users on users.id = api_keys.user_id
  where api_keys.expires_at is not null and api_keys.expires_at <= $1 order by api_keys.expires_at desc limit $2`)
const LIST_UNUSED = statement<OwnedRow>(`
  select ${OWNED_COLUMNS} from api_keys join users on users.id = api_keys.user_id
  where api_keys.is_active = true and ${LAST_USE} <= $1 order by ${LAST_USE} limit $2`)

const INSERT_RETIRING = statement(insertInto('retiring_secrets', RETIRING_SECRET))
const DELETE_RETIRING = statement('delete from retiring_secrets where key_id = $1')
const DELETE_OLDEST_RETIRING = statement(`
  delete from retiring_secrets where key_hash in (
    select key_hash from retiring_secrets where key_id = $1 order by retired_at desc, key_hash limit 1000 offset $2)`)
const DELETE_ENDED_RETIRING = deleteListed(
  'retiring_secrets',
  'key_hash',
  'select key_hash from retiring_secrets where expires_at <= $1 order by expires_at limit $2',
)

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
  await tx.run(INSERT, ...KEY_ROW.toValues({ ...key, userId, keyHash }))
}

/** One page of the keys of a user, in order of creation. `last` is the sequence number of its last key. */
export type ApiKeyPage = { readonly keys: readonly ApiKey[]; readonly last: number }

/** The keys that follow a sequence number. 0 returns the first page. */
export async function listApiKeysAfter(db: Reads, userId: number, seq: number, limit: number): Promise<ApiKeyPage> {
  const rows = await db.all(LIST_AFTER, userId, seq, limit)
  return { keys: rows.map(KEY.fromRow), last: rows.at(-1)?.seq ?? seq }
}

export async function findApiKey(db: Reads, userId: number, keyId: string): Promise<ApiKey | undefined> {
  const row = await db.first(FIND, keyId, userId)
  return row && KEY.fromRow(row)
}

export async function updateApiKey(tx: Transaction, userId: number, keyId: string, changes: ApiKeyChanges): Promise<ApiKey | undefined> {
  const { name = null, isActive = null, expiresAt } = changes
  const row = await tx.first(UPDATE, keyId, userId, name, isActive, expiresAt !== undefined, expiresAt ?? null)
  return row && KEY.fromRow(row)
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

/** The user, the key, and when the secret stops working, in the order of the columns. */
function readOwner(values: readonly unknown[]): KeyOwner {
  const { id: keyId, ...key } = CREDENTIAL.fromValues(values, USER.size)
  return { user: USER.fromValues(values), keyId, ...key, expiresAt: expiresAt.fromColumn(values[USER.size + CREDENTIAL.size]) }
}

/** The latest first. */
export function listExpiredKeys(db: Reads, now: number, limit: number): Promise<OwnedApiKey[]> {
  return listOwned(db, LIST_EXPIRED, now, limit)
}

/** Active keys whose last use was before a moment, the longest unused first. */
export function listUnusedKeys(db: Reads, before: number, limit: number): Promise<OwnedApiKey[]> {
  return listOwned(db, LIST_UNUSED, before, limit)
}

async function listOwned(db: Reads, declared: Statement<OwnedRow>, moment: number, limit: number): Promise<OwnedApiKey[]> {
  return (await db.all(declared, moment, limit)).map((row) => ({ ...KEY.fromRow(row), ownerId: row.owner_id, ownerEmail: row.owner_email }))
}

export async function insertRetiringSecret(tx: Transaction, secret: RetiringSecret): Promise<void> {
  await tx.run(INSERT_RETIRING, ...RETIRING_SECRET.toValues(secret))
}

/** Ends all former secrets of a key. */
export async function deleteRetiringSecrets(tx: Transaction, keyId: string): Promise<void> {
  await tx.run(DELETE_RETIRING, keyId)
}

/** Ends the former secrets of a key that were replaced first, beyond the `kept` latest. */
export async function deleteOldestRetiringSecrets(tx: Transaction, keyId: string, kept: number): Promise<void> {
  await tx.run(DELETE_OLDEST_RETIRING, keyId, kept)
}

/** Deletes at most `limit` secrets that no longer work. Returns how many it deleted. */
export async function deleteEndedSecrets(db: Queries, now: number, limit: number): Promise<number> {
  return db.run(DELETE_ENDED_RETIRING, now, limit)
}
