import { KEY_ROW, type KeyRow, RETIRING_SECRET, type RetiringSecret } from '../../../model/api-key.ts'
import { entity, type Given, text, type ValuesOf, without } from '../../../model/entity.ts'
import { USER, USER_COPIES, USER_DETAILS, USER_ROW, USER_SECRETS, type UserRow } from '../../../model/user.ts'
import { type Queries, type Reads, type StoredRow, statement, type Transaction } from '../../database.ts'
import { counts, countsChanges, exists, lists, listsIn } from '../../repository-functions.ts'
import { around, GIVEN_TEXTS, givenRows, type InsertOptions, insertRows } from '../../tables.ts'
import { firstVersions, fold } from '../users/user.repository.ts'

const { emailVersion, resetVersion } = USER_SECRETS.fields
const VERSIONS = entity('users', { emailVersion, resetVersion })
const STATE = entity('users', { ...USER.fields, ...USER_DETAILS.fields, ...USER_COPIES.fields, passwordHash: text })
// The address identifies the account, and its times stay.
const { firstName, lastName } = USER.fields
const UPDATED = entity('users', { firstName, lastName, ...without(USER_DETAILS, 'createdAt', 'lastLoginAt').fields })
/** The fields that an update takes from the file unless the file leaves them out. */
export const UPDATED_FIELDS = Object.keys(UPDATED.fields) as readonly (keyof typeof UPDATED.fields)[]
const givenOrPresent = (column: string) => `${column} = coalesce(given.${column}, users.${column})`
const FOUND = entity('users', { id: USER.fields.id, emailKey: USER_COPIES.fields.emailKey })

/** What an import knows of a user. */
export type GivenUser = Given<typeof USER_ROW.fields> & Pick<UserRow, 'email' | 'emailKey'>
/** An account before it is updated. */
export type UserState = ValuesOf<typeof STATE.fields>
export type FoundUser = ValuesOf<typeof FOUND.fields>

// Any conflict: an address that is taken, or an id.
const IGNORED = 'on conflict do nothing returning id, email_key'
const INSERT_USERS = statement(insertRows('users', { keepsIds: false, suffix: IGNORED }), FOUND.fromRow)
const INSERT_USERS_WITH_IDS = statement(insertRows('users', { keepsIds: true, suffix: IGNORED }), FOUND.fromRow)
// SQLite continues after the highest id by itself.
const CONTINUE_IDS = statement({
  postgres: `select setval(pg_get_serial_sequence('users', 'id'),
    greatest((select max(id) from users), nextval(pg_get_serial_sequence('users', 'id')) - 1))`,
  sqlite: 'select 1',
})
// SQLite would copy the log into the database after nearly every batch, with most pages of the indexes in it. For this connection only.
const RARE_CHECKPOINTS = statement({ postgres: 'select 1', sqlite: 'pragma wal_autocheckpoint = 32000' })
const LARGE_CACHE = statement({ postgres: 'select 1', sqlite: 'pragma cache_size = -48000' })
const FIND_USERS = statement(
  around(GIVEN_TEXTS, (given) => `select ${FOUND.columns} from users where email_key ${given}`),
  FOUND.fromRow,
)
const OF_GIVEN_USERS = around(GIVEN_TEXTS, (given) => `select ${STATE.columns} from users where email_key ${given}`)
const LOCK_STATES = statement({ ...OF_GIVEN_USERS, postgres: `${OF_GIVEN_USERS.postgres} order by id for update` }, STATE.fromRow)
// An update takes the admin role from nobody and bans no admin: the last one would lock everybody out.
const UPDATE_USERS = statement(
  around(
    givenRows('users'),
    (given) => `
  update users set
    ${[...UPDATED.columnNames, 'first_name_folded', 'last_name_folded', 'verified', 'password_hash'].map(givenOrPresent).join(', ')},
    role = case when users.role = 'admin' then 'admin' else coalesce(given.role, users.role) end,
    banned = case when users.role = 'admin' then users.banned else coalesce(given.banned, users.banned) end,
    foreign_kind = case when given.password_hash is null then users.foreign_kind else given.foreign_kind end,
    reset_version = users.reset_version
      + case when given.password_hash <> users.password_hash or (given.banned and not users.banned) then 1 else 0 end
  from (${given}) as given where users.email_key = given.email_key`,
  ),
)
const END_SESSIONS = statement(
  around(
    givenRows('users'),
    (given) => `
  delete from sessions where user_id in (
    select users.id from users join (${given}) as given on users.email_key = given.email_key
    where given.password_hash <> users.password_hash)`,
  ),
)
const INSERT_KEYS = statement(insertRows('api_keys', { keepsIds: false, suffix: 'on conflict do nothing' }))
const INSERT_RETIRING = statement(insertRows('retiring_secrets', { keepsIds: true, suffix: 'on conflict do nothing' }))
const owners = (isGiven: string) => `
  select api_keys.id, api_keys.key_hash, users.email_key from api_keys join users on users.id = api_keys.user_id
  where api_keys.id ${isGiven} or api_keys.key_hash ${isGiven}
  union all
  select passkeys.id, passkeys.credential_id, users.email_key from passkeys join users on users.id = passkeys.user_id
  where passkeys.id ${isGiven} or passkeys.credential_id ${isGiven}`
const FIND_OWNERS = statement<{ id: string; key_hash: string; email_key: string }>(around(GIVEN_TEXTS, owners))
// Jumps through the index from one kind to the next, however many accounts there are of each.
const KINDS = `
  with recursive kinds (kind) as (
    select min(foreign_kind) from users where foreign_kind is not null
    union all
    select (select min(foreign_kind) from users where foreign_kind > kinds.kind) from kinds where kinds.kind is not null
  )
  select kind from kinds where kind is not null`
/** For the inspection of a database that the service has not opened. */
export const READ_FOREIGN_KINDS = `${KINDS} limit 1000`

function toRow(user: GivenUser): StoredRow {
  const { firstName, lastName } = user
  return USER_ROW.toRow({
    ...user,
    ...(firstName !== undefined && { firstNameFolded: fold(firstName) }),
    ...(lastName !== undefined && { lastNameFolded: fold(lastName) }),
  })
}

/** Inserts users with one statement. Returns those that were inserted; the address or the id of the others is taken. */
export async function insertUsers(
  tx: Transaction,
  users: readonly GivenUser[],
  { keepsIds }: Pick<InsertOptions, 'keepsIds'>,
): Promise<FoundUser[]> {
  if (users.length === 0) return []
  const rows = users.map((user) => ({ ...toRow(user), ...VERSIONS.toRow(firstVersions()) }))
  return tx.all(keepsIds ? INSERT_USERS_WITH_IDS : INSERT_USERS, JSON.stringify(rows))
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
export function lockUserStates(tx: Transaction, emailKeys: readonly string[]): Promise<UserState[]> {
  return tx.all(LOCK_STATES, JSON.stringify(emailKeys))
}

/** Prepares the connection for writing many rows. Changes nothing in the database. */
export async function expectManyRows(tx: Transaction): Promise<void> {
  await tx.first(RARE_CHECKPOINTS)
  await tx.first(LARGE_CACHE)
}

export async function findUsersByEmail(db: Reads, emailKeys: readonly string[]): Promise<FoundUser[]> {
  return emailKeys.length === 0 ? [] : db.all(FIND_USERS, JSON.stringify(emailKeys))
}

export const hasUsers = exists<Reads, []>('select id from users limit 1')

/** Inserts keys with one statement. A key that exists is left as it is. */
export async function insertKeys(tx: Transaction, keys: readonly KeyRow[], retiring: readonly RetiringSecret[]): Promise<void> {
  await tx.run(INSERT_KEYS, JSON.stringify(keys.map(KEY_ROW.toRow)))
  if (retiring.length > 0) await tx.run(INSERT_RETIRING, JSON.stringify(retiring.map(RETIRING_SECRET.toRow)))
}

/** The address of the owner, by the ids and the hashes of keys that exist, and by both ids of passkeys. */
export async function findKeyOwners(db: Reads, idsAndHashes: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.all(FIND_OWNERS, JSON.stringify(idsAndHashes))
  return new Map(rows.flatMap(({ id, key_hash, email_key }) => [[id, email_key] as const, [key_hash, email_key] as const]))
}

export const countUsers = counts<Reads, []>('select count(*) as count from users')

/** One page of all users with their hashes, in order of id. */
export const listExportedUsers = listsIn<UserRow, [afterId: number, limit: number]>(USER_ROW, 'where id > $1 order by id limit $2')

/** The keys of the users between two ids: after the first, up to the last. */
export const listExportedKeys = listsIn<KeyRow, [afterId: number, lastId: number]>(
  KEY_ROW,
  'where user_id > $1 and user_id <= $2 order by user_id, seq',
)

/** The former secrets of these keys that still work. */
export const listExportedSecrets = listsIn<RetiringSecret, [afterId: number, lastId: number, now: number]>(
  RETIRING_SECRET,
  `join api_keys on api_keys.id = retiring_secrets.key_id
  where api_keys.user_id > $1 and api_keys.user_id <= $2 and retiring_secrets.expires_at > $3 order by retiring_secrets.key_hash`,
)

/** The kinds of password hashes of other systems that accounts have, up to a number. Empty unless accounts were imported. */
export const listForeignKinds = lists<string, [limit: number]>(`select kind from (${KINDS} limit $1 + 0) as found`, (row) =>
  String(row['kind']),
)

/** Gives at most `limit` accounts of one kind another one. Returns how many there were. */
export const renameForeignKind = countsChanges<Queries, [kind: string, newKind: string, limit: number]>(`
  update users set foreign_kind = $2 where foreign_kind = $1 and id in (select id from users where foreign_kind = $1 limit $3)`)
