import {
  type ApiKey,
  type ApiKeyChanges,
  KEY,
  KEY_ROW,
  type KeyAccess,
  OWNED_KEY,
  type OwnedApiKey,
  RETIRING_SECRET,
} from '../../../model/api-key.ts'
import { computed, entity, integer, storedAs } from '../../../model/entity.ts'
import { readUser, USER, USER_DETAILS, USER_FACTOR, type User } from '../../../model/user.ts'
import { hotRead, insertInto, type Queries, type Reads, type StoredRow, statement, type Transaction } from '../../database.ts'
import { changes, counts, finds, findsIn, inserts, lists, listsIn, runs } from '../../repository-functions.ts'
import { around, GIVEN_IDS } from '../../tables.ts'

/** The owner of a key, and what decides whether the key may be used. */
export type KeyOwner = {
  readonly user: User
  /** Whether the owner has a second factor. */
  readonly hasFactor: boolean
  readonly keyId: string
  readonly isActive: boolean
  readonly lastUsedAt?: number | undefined
  readonly access: KeyAccess
  readonly scopes: readonly string[]
  /** When the secret that was looked up stops working: a former one at the latest when its overlap ends. */
  readonly expiresAt: number | undefined
  /** The number of the key, its limit, and the plan of its owner. */
  readonly seq: number
  readonly limit?: string | undefined
  readonly plan?: string | undefined
}

const { id, isActive, lastUsedAt, access, scopes, limit } = KEY.fields
const CREDENTIAL = entity('api_keys', {
  hasFactor: USER_FACTOR.fields.hasFactor,
  plan: computed(USER_DETAILS.fields.plan, 'users.plan'),
  keyId: storedAs('id', id),
  isActive,
  lastUsedAt,
  access,
  scopes,
  seq: integer,
  limit,
})
const OWNER_COLUMNS = `${USER.columns}, ${CREDENTIAL.columns}`
// A former secret ends with its overlap, or before that with its key.
const RETIRING_EXPIRY = `
  case when api_keys.expires_at < retiring_secrets.expires_at then api_keys.expires_at else retiring_secrets.expires_at end`

const FIND_OWNER = hotRead(
  ['text'],
  ([keyHash]) => `select ${OWNER_COLUMNS}, api_keys.expires_at from api_keys join users on users.id = api_keys.user_id
  where api_keys.key_hash = ${keyHash}`,
  readOwner,
)
const FIND_RETIRING_OWNER = hotRead(
  ['text', 'bigint'],
  ([keyHash, now]) => `select ${OWNER_COLUMNS}, ${RETIRING_EXPIRY}
  from retiring_secrets join api_keys on api_keys.id = retiring_secrets.key_id join users on users.id = api_keys.user_id
  where retiring_secrets.key_hash = ${keyHash} and retiring_secrets.expires_at > ${now}`,
  readOwner,
)
const INSERT = statement(insertInto(KEY_ROW))
const LIST_AFTER = statement<StoredRow & { readonly seq: number }>(`
  select ${KEY.columns}, seq from api_keys where user_id = $1 and seq > $2 order by seq limit $3 + 0`)
const UPDATE = statement(
  `update api_keys set name = coalesce($3, name), is_active = coalesce($4, is_active), expires_at = case when $5 then $6 else expires_at end,
    call_limit = case when $7 then $8 else call_limit end
  where id = $1 and user_id = $2 returning ${KEY.columns}`,
  KEY.fromRow,
)
const REPLACE_SECRET = statement('update api_keys set key_hash = $3, prefix = $4 where id = $1 and user_id = $2')
const DELETE_OF_USER = statement(`
  delete from api_keys where seq in (select seq from api_keys where user_id = $1 and id <> $3 order by seq limit $2)`)
const WITH_OWNER = 'join users on users.id = api_keys.user_id'
const SELECT_OWNED = `select ${OWNED_KEY.columns} from api_keys ${WITH_OWNER}`
// A key that was never used counts from its creation on.
const LAST_USE = 'coalesce(api_keys.last_used_at, api_keys.created_at)'

/** The values of the columns, in their order. */
function readOwner(values: readonly unknown[]): KeyOwner {
  return {
    user: readUser(values),
    hasFactor: Boolean(values[7]),
    plan: (values[8] ?? undefined) as string | undefined,
    keyId: values[9] as string,
    isActive: Boolean(values[10]),
    lastUsedAt: (values[11] ?? undefined) as number | undefined,
    access: values[12] as KeyAccess,
    scopes: scopes.fromColumn(values[13]),
    seq: values[14] as number,
    limit: (values[15] ?? undefined) as string | undefined,
    expiresAt: (values[16] ?? undefined) as number | undefined,
  }
}

/** The owner of a key. Authentication by API key costs this one statement. */
export function findKeyOwner(db: Reads, keyHash: string): Promise<KeyOwner | undefined> {
  return db.first(FIND_OWNER, keyHash)
}

/** The owner of a key by a secret that was replaced and has not ended yet. */
export function findRetiringKeyOwner(db: Reads, keyHash: string, now: number): Promise<KeyOwner | undefined> {
  return db.first(FIND_RETIRING_OWNER, keyHash, now)
}

/** The owner of a key by its current secret or, if it has not ended yet, a former one. */
export function findSecretOwner(db: Reads, keyHash: string, now: number): Promise<KeyOwner | undefined> {
  return findKeyOwner(db, keyHash).then((owner) => owner ?? findRetiringKeyOwner(db, keyHash, now))
}

export const countApiKeys = counts<Reads, [userId: number]>('select count(*) as count from api_keys where user_id = $1')

/** Records a use, unless one after `unlessUsedAfter` is recorded already. */
export const recordKeyUse = runs<Queries, [keyId: string, usedAt: number, unlessUsedAfter: number]>(
  'update api_keys set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at <= $3)',
)

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

export const findApiKey = findsIn<ApiKey, [userId: number, keyId: string]>(KEY, 'where user_id = $1 and id = $2')

/** The number of a key, by which its use is counted. */
export const findKeySeq = finds<number, [userId: number, keyId: string]>('select seq from api_keys where user_id = $1 and id = $2', (row) =>
  Number(row['seq']),
)

/** Expired keys with their owners, the latest first. */
export const listExpiredKeys = listsIn<OwnedApiKey, [now: number, limit: number]>(
  OWNED_KEY,
  `${WITH_OWNER} where api_keys.expires_at is not null and api_keys.expires_at <= $1 order by api_keys.expires_at desc limit $2`,
)

/** Active keys whose last use was before a moment, the longest unused first. */
export const listUnusedKeys = listsIn<OwnedApiKey, [before: number, limit: number]>(
  OWNED_KEY,
  `${WITH_OWNER} where api_keys.is_active = true and ${LAST_USE} <= $1 order by ${LAST_USE} limit $2`,
)

/** All keys with their owners, the newest first, below a sequence number. */
export const listAllKeys = listsIn<OwnedApiKey, [belowSeq: number, limit: number]>(
  OWNED_KEY,
  `${WITH_OWNER} where api_keys.seq < $1 order by api_keys.seq desc limit $2`,
)

/** The keys whose text in a column begins with `$1`, by its index. No text of a key comes after `$2`. */
function listBeginning(column: string) {
  const list = lists<OwnedApiKey, [from: string, below: string, limit: number]>(
    around(
      { postgres: `${column} collate "C"`, sqlite: column },
      (sortable) => `${SELECT_OWNED} where ${sortable} >= $1 and ${sortable} < $2 order by ${sortable} limit $3`,
    ),
    OWNED_KEY.fromRow,
  )
  return (db: Reads, beginning: string, limit: number) => list(db, beginning, `${beginning}\u{10ffff}`, limit)
}

export const listKeysByPrefix = listBeginning('api_keys.prefix')
/** The name is compared in lower case. */
export const listKeysByName = listBeginning('lower(api_keys.name)')

/** The keys of some users, which are listed as JSON. */
export const listKeysOfUsers = lists<OwnedApiKey, [userIds: string, limit: number]>(
  around(GIVEN_IDS, (given) => `${SELECT_OWNED} where api_keys.user_id ${given} order by api_keys.user_id, api_keys.seq limit $2`),
  OWNED_KEY.fromRow,
)

export function updateApiKey(tx: Transaction, userId: number, keyId: string, changed: ApiKeyChanges): Promise<ApiKey | undefined> {
  const { name = null, isActive = null, expiresAt, limit } = changed
  const expiry = [expiresAt !== undefined, expiresAt ?? null] as const
  return tx.first(UPDATE, keyId, userId, name, isActive, ...expiry, limit !== undefined, limit ?? null)
}

/** Returns false if the key is disabled already. */
export const disableApiKey = changes<Transaction, [keyId: string]>('update api_keys set is_active = false where id = $1 and is_active')

/** The hash of the current secret. */
export const findKeyHash = finds<string, [userId: number, keyId: string], Transaction>(
  'select key_hash from api_keys where user_id = $1 and id = $2',
  (row) => String(row['key_hash']),
)

export type Secret = { readonly hash: string; readonly prefix: string }

export async function replaceSecret(tx: Transaction, userId: number, keyId: string, { hash, prefix }: Secret): Promise<void> {
  await tx.run(REPLACE_SECRET, keyId, userId, hash, prefix)
}

export const deleteApiKey = changes<Transaction, [userId: number, keyId: string]>('delete from api_keys where user_id = $1 and id = $2')

/** Deletes at most `limit` keys of a user, the oldest first. Returns how many it deleted. */
export function deleteApiKeysOfUser(tx: Transaction, userId: number, limit: number, exceptKeyId = ''): Promise<number> {
  return tx.run(DELETE_OF_USER, userId, limit, exceptKeyId)
}

export const insertRetiringSecret = inserts(RETIRING_SECRET)

/** Ends all former secrets of a key. */
export const deleteRetiringSecrets = runs<Transaction, [keyId: string]>('delete from retiring_secrets where key_id = $1')

/** Ends the former secrets of a key that were replaced first, beyond the `kept` latest. */
export const deleteOldestRetiringSecrets = runs<Transaction, [keyId: string, kept: number]>(`
  delete from retiring_secrets where key_hash in (
    select key_hash from retiring_secrets where key_id = $1 order by retired_at desc, key_hash limit 1000 offset $2)`)
