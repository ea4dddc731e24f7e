import { KEY_ROW, type KeyRow, RETIRING_SECRET, type RetiringSecret } from '../../../model/api-key.ts'
import { entity, type Given, text, type ValuesOf } from '../../../model/entity.ts'
import { USER, USER_COPIES, USER_ROW, USER_SECRETS, type UserRow } from '../../../model/user.ts'
import { type Queries, type Reads, type Statement, type StoredRow, statement, type Transaction } from '../../database.ts'
import { givenRows, type InsertOptions, insertRows } from '../../tables.ts'
import { firstVersions, fold } from '../users/user.repository.ts'

type Found = { readonly id: number; readonly email_key: string }

const { emailVersion, resetVersion } = USER_SECRETS.fields
const VERSIONS = entity('users', { emailVersion, resetVersion })
const STATE = entity('users', { ...USER.fields, ...USER_COPIES.fields, passwordHash: text })

// Any conflict: an address that is taken, or an id.
const IGNORED = 'on conflict do nothing returning id, email_key'
const INSERT_USERS = declareInsert({ keepsIds: false })
const INSERT_USERS_WITH_IDS = declareInsert({ keepsIds: true })
// SQLite continues after the highest id by itself.
const CONTINUE_IDS = statement(
  `select setval(pg_get_serial_sequence('users', 'id'),
    greatest((select max(id) from users), nextval(pg_get_serial_sequence('users', 'id')) - 1))`,
  'select 1',
)
// SQLite would copy the log into the database after nearly every batch, with most pages of the indexes in it. For this connection only.
const RARE_CHECKPOINTS = statement('select 1', 'pragma wal_autocheckpoint = 32000')
const LARGE_CACHE = statement('select 1', 'pragma cache_size = -48000')
const FIND_USERS = statement<Found>(
  'select id, email_key from users where email_key in (select json_array_elements_text($1::text::json))',
  'select id, email_key from users where email_key in (select value from json_each($1))',
)
const LOCK_STATES = statement<StoredRow>(
  `select ${STATE.columns} from users
  where email_key in (select json_array_elements_text($1::text::json)) order by id for update`,
  `select ${STATE.columns} from users
  where email_key in (select value from json_each($1))`,
)
const FIND_ANY_USER = statement<{ id: number }>('select id from users limit 1')
// An update takes the admin role from nobody and bans no admin: the last one would lock everybody out.
const UPDATE_USERS = declareChange(
  (given) => `
  update users set
    first_name = coalesce(given.first_name, users.first_name),
    first_name_folded = coalesce(given.first_name_folded, users.first_name_folded),
    last_name = coalesce(given.last_name, users.last_name),
    last_name_folded = coalesce(given.last_name_folded, users.last_name_folded),
    role = case when users.role = 'admin' then 'admin' else coalesce(given.role, users.role) end,
    banned = case when users.role = 'admin' then users.banned else coalesce(given.banned, users.banned) end,
    verified = coalesce(given.verified, users.verified),
    password_hash = coalesce(given.password_hash, users.password_hash),
    foreign_kind = case when given.password_hash is null then users.foreign_kind else given.foreign_kind end,
    reset_version = users.reset_version
      + case when given.password_hash <> users.password_hash or (given.banned and not users.banned) then 1 else 0 end
  from (${given}) as given where users.email_key = given.email_key`,
)
const END_SESSIONS = declareChange(
  (given) => `
  delete from sessions where user_id in (
    select users.id from users join (${given}) as given on users.email_key = given.email_key
    where given.password_hash <> users.password_hash)`,
)

/** What an import knows of a user. */
export type GivenUser = Given<typeof USER_ROW.fields> & Pick<UserRow, 'email' | 'emailKey'>
/** An account before it is updated. */
export type UserState = ValuesOf<typeof STATE.fields>

export type FoundUser = { readonly id: number; readonly emailKey: string }

const KEYS_TEXT = insertRows('api_keys', { keepsIds: false, suffix: 'on conflict do nothing' })
const INSERT_KEYS = statement(KEYS_TEXT.postgres, KEYS_TEXT.sqlite)
const RETIRING_TEXT = insertRows('retiring_secrets', { keepsIds: true, suffix: 'on conflict do nothing' })
const INSERT_RETIRING = statement(RETIRING_TEXT.postgres, RETIRING_TEXT.sqlite)
const owners = (isGiven: string) => `
  select api_keys.id, api_keys.key_hash, users.email_key from api_keys join users on users.id = api_keys.user_id
  where api_keys.id ${isGiven} or api_keys.key_hash ${isGiven}`
// With arrays, PostgreSQL uses both indexes. With `in` it would read all keys and all users for each batch of an import.
const FIND_OWNERS = statement<{ id: string; key_hash: string; email_key: string }>(
  owners('= any (array(select json_array_elements_text($1::text::json)))'),
  owners('in (select value from json_each($1))'),
)

const COUNT_USERS = statement<{ count: number }>('select count(*) as count from users')
const LIST_USERS = statement<StoredRow>(`select ${USER_ROW.columns} from users where id > $1 order by id limit $2`)
const LIST_KEYS = statement<StoredRow>(`select ${KEY_ROW.columns} from api_keys where user_id > $1 and user_id <= $2 order by user_id, seq`)
const LIST_SECRETS = statement<StoredRow>(`
  select ${RETIRING_SECRET.columns} from retiring_secrets join api_keys on api_keys.id = retiring_secrets.key_id
  where api_keys.user_id > $1 and api_keys.user_id <= $2 and retiring_secrets.expires_at > $3 order by retiring_secrets.key_hash`)

// Jumps through the index from one kind to the next, however many accounts there are of each.
const KINDS = `
  with recursive kinds (kind) as (
    select min(foreign_kind) from users where foreign_kind is not null
    union all
    select (select min(foreign_kind) from users where foreign_kind > kinds.kind) from kinds where kinds.kind is not null
  )
  select kind from kinds where kind is not null`

const LIST_KINDS = statement<{ kind: string }>(`select kind from (${KINDS} limit $1) as found`)

/** For the inspection of a database that the service has not opened. */
export const READ_FOREIGN_KINDS = `${KINDS} limit 1000`

const RENAME_KIND = statement(`
  update users set foreign_kind = $2 where foreign_kind = $1 and id in (select id from users where foreign_kind = $1 limit $3)`)

/** Inserts users with one statement. Returns those that were inserted; the address or the id of the others is taken. */
export async function insertUsers(
  tx: Transaction,
  users: readonly GivenUser[],
  { keepsIds }: Pick<InsertOptions, 'keepsIds'>,
): Promise<FoundUser[]> {
  if (users.length === 0) return []
  const rows = users.map((user) => ({ ...toRow(user), ...VERSIONS.toRow(firstVersions()) }))
  const inserted = await tx.all(keepsIds ? INSERT_USERS_WITH_IDS : INSERT_USERS, JSON.stringify(rows))
  return inserted.map(toFound)
}

/** Lets new ids continue after those that were inserted. PostgreSQL does not take this back when the transaction is rolled back. */
export async function continueIds(tx: Transaction): Promise<void> {
  await tx.first(CONTINUE_IDS)
}

/** Changes what is given of users that exist, by their addresses. A new password ends their sessions. */
export async function updateUsers(tx: Transaction, users: readonly GivenUser[]): Promise<void> {
  const rows = JSON.stringify(users.map(toRow))
  await tx.run(END_SESSIONS, rows)
  await tx.run(UPDATE_USERS, rows)
}

/** Reads accounts that are about to be updated, and keeps others from changing them until the transaction ends. */
export async function lockUserStates(tx: Transaction, emailKeys: readonly string[]): Promise<UserState[]> {
  return (await tx.all(LOCK_STATES, JSON.stringify(emailKeys))).map(STATE.fromRow)
}

/** Prepares the connection for writing many rows. Changes nothing in the database. */
export async function expectManyRows(tx: Transaction): Promise<void> {
  await tx.first(RARE_CHECKPOINTS)
  await tx.first(LARGE_CACHE)
}

export async function findUsersByEmail(db: Reads, emailKeys: readonly string[]): Promise<FoundUser[]> {
  return emailKeys.length === 0 ? [] : (await db.all(FIND_USERS, JSON.stringify(emailKeys))).map(toFound)
}

export async function hasUsers(db: Reads): Promise<boolean> {
  return (await db.first(FIND_ANY_USER)) !== undefined
}

function toRow(user: GivenUser): StoredRow {
  const { firstName, lastName } = user
  return USER_ROW.toRow({
    ...user,
    ...(firstName !== undefined && { firstNameFolded: fold(firstName) }),
    ...(lastName !== undefined && { lastNameFolded: fold(lastName) }),
  })
}

function toFound({ id, email_key }: Found): FoundUser {
  return { id, emailKey: email_key }
}

function declareInsert({ keepsIds }: Pick<InsertOptions, 'keepsIds'>): Statement<Found> {
  const { postgres, sqlite } = insertRows('users', { keepsIds, suffix: IGNORED })
  return statement(postgres, sqlite)
}

function declareChange(sql: (given: string) => string): Statement<unknown> {
  const { postgres, sqlite } = givenRows('users')
  return statement(sql(postgres), sql(sqlite))
}

/** Inserts keys with one statement. A key that exists is left as it is. */
export async function insertKeys(tx: Transaction, keys: readonly KeyRow[], retiring: readonly RetiringSecret[]): Promise<void> {
  const rows = keys.map(KEY_ROW.toRow)
  await tx.run(INSERT_KEYS, JSON.stringify(rows))
  if (retiring.length === 0) return
  const former = retiring.map(RETIRING_SECRET.toRow)
  await tx.run(INSERT_RETIRING, JSON.stringify(former))
}

/** The address of the owner, by the ids and the hashes of keys that exist. */
export async function findKeyOwners(db: Reads, idsAndHashes: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.all(FIND_OWNERS, JSON.stringify(idsAndHashes))
  return new Map(rows.flatMap(({ id, key_hash, email_key }) => [[id, email_key] as const, [key_hash, email_key] as const]))
}

export async function countUsers(db: Reads): Promise<number> {
  return (await db.first(COUNT_USERS))?.count ?? 0
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

/** The kinds of password hashes of other systems that accounts have, up to a number. Empty unless accounts were imported. */
export async function listForeignKinds(db: Reads, limit: number): Promise<string[]> {
  return (await db.all(LIST_KINDS, limit)).map(({ kind }) => kind)
}

/** Gives at most `limit` accounts of one kind another one. Returns how many there were. */
export async function renameForeignKind(db: Queries, kind: string, newKind: string, limit: number): Promise<number> {
  return db.run(RENAME_KIND, kind, newKind, limit)
}
