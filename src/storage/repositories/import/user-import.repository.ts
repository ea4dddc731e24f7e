import { entity, type Given, text, type ValuesOf } from '../../../model/entity.ts'
import { USER, USER_COPIES, USER_ROW, USER_SECRETS, type UserRow } from '../../../model/user.ts'
import { type Reads, type Statement, type StoredRow, statement, type Transaction } from '../../database.ts'
import { givenRows, type InsertOptions, insertRows } from '../../many-rows.ts'
import { fold } from '../users/folding.ts'
import { firstVersions } from '../users/user.repository.ts'

type Found = { readonly id: number; readonly email_key: string }

const { emailVersion, resetVersion } = USER_SECRETS.fields
const VERSIONS = entity('users', { emailVersion, resetVersion })
const STATE = entity('users', { ...USER.fields, ...USER_COPIES.fields, passwordHash: text })

// Any conflict: an address that is taken, or an id.
const IGNORED = 'on conflict do nothing returning id, email_key'
const INSERT = declareInsert({ keepsIds: false })
const INSERT_WITH_IDS = declareInsert({ keepsIds: true })
// SQLite continues after the highest id by itself.
const CONTINUE_IDS = statement(
  `select setval(pg_get_serial_sequence('users', 'id'),
    greatest((select max(id) from users), nextval(pg_get_serial_sequence('users', 'id')) - 1))`,
  'select 1',
)
// SQLite would copy the log into the database after nearly every batch, with most pages of the indexes in it. For this connection only.
const RARE_CHECKPOINTS = statement('select 1', 'pragma wal_autocheckpoint = 32000')
const LARGE_CACHE = statement('select 1', 'pragma cache_size = -48000')
const FIND = statement<Found>(
  'select id, email_key from users where email_key in (select json_array_elements_text($1::text::json))',
  'select id, email_key from users where email_key in (select value from json_each($1))',
)
const LOCK_STATES = statement<StoredRow>(
  `select ${STATE.columns} from users
  where email_key in (select json_array_elements_text($1::text::json)) order by id for update`,
  `select ${STATE.columns} from users
  where email_key in (select value from json_each($1))`,
)
const FIND_ANY = statement<{ id: number }>('select id from users limit 1')
// An update takes the admin role from nobody and bans no admin: the last one would lock everybody out.
const UPDATE = declareChange(
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

/** Inserts users with one statement. Returns those that were inserted; the address or the id of the others is taken. */
export async function insertUsers(
  tx: Transaction,
  users: readonly GivenUser[],
  { keepsIds }: Pick<InsertOptions, 'keepsIds'>,
): Promise<FoundUser[]> {
  if (users.length === 0) return []
  const rows = users.map((user) => ({ ...toRow(user), ...VERSIONS.toRow(firstVersions()) }))
  const inserted = await tx.all(keepsIds ? INSERT_WITH_IDS : INSERT, JSON.stringify(rows))
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
  await tx.run(UPDATE, rows)
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
  return emailKeys.length === 0 ? [] : (await db.all(FIND, JSON.stringify(emailKeys))).map(toFound)
}

export async function hasUsers(db: Reads): Promise<boolean> {
  return (await db.first(FIND_ANY)) !== undefined
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
