import { randomInt } from 'node:crypto'
import type { Profile, Role, User } from '../../../model/user.ts'
import { type Bit, type Reads, statement, type Transaction } from '../../database.ts'
import { fold } from './folding.ts'

/** readUser() depends on their order. */
export const USER_COLUMNS = 'users.id, users.email, users.first_name, users.last_name, users.role, users.banned, users.verified'

export type UserRow = {
  readonly id: number
  readonly email: string
  readonly first_name: string
  readonly last_name: string
  readonly role: Role
  readonly banned: Bit
  readonly verified: Bit
}

export type UserValues = readonly [id: number, email: string, firstName: string, lastName: string, role: Role, banned: Bit, verified: Bit]

/** The columns that only login and the use of mailed tokens may read. */
export type UserSecrets = { readonly passwordHash: string; readonly emailVersion: number; readonly resetVersion: number }
export type UserSecretsRow = UserRow & { readonly password_hash: string; readonly email_version: number; readonly reset_version: number }

export const SECRET_COLUMNS = 'users.password_hash, users.email_version, users.reset_version'

const INSERT = statement<{ id: number }>(`
  insert into users (email, email_key, password_hash, first_name, first_name_folded, last_name, last_name_folded, role, verified, created_at,
    email_version, reset_version)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
  on conflict (email_key) do nothing returning id`)
const FIND_BY_ID = statement<UserSecretsRow>(`select ${USER_COLUMNS}, ${SECRET_COLUMNS} from users where id = $1`)
// SQLite has a single writer and needs no lock.
const LOCK_ACCOUNTS = statement<{ id: number }>(
  'select id from users where id in ($1, $2) order by id for no key update',
  'select id from users where id in ($1, $2)',
)
const FIND_BY_EMAIL = statement<UserSecretsRow>(`select ${USER_COLUMNS}, ${SECRET_COLUMNS} from users where email_key = $1`)
const MARK_VERIFIED = statement(`
  update users set verified = true where id = $1 and verified = false and banned = false and email_version = $2`)
const RESET_PASSWORD = statement(`
  update users set password_hash = $2, foreign_kind = null, reset_version = reset_version + 1 where id = $1 and reset_version = $3 and banned = false`)
// A new address invalidates tokens that were mailed to the old one. A new password invalidates reset tokens.
const UPDATE = statement<UserRow>(`
  update users set
    email = coalesce($2, email), email_key = coalesce($3, email_key), password_hash = coalesce($4, password_hash),
    foreign_kind = case when $4 is null then foreign_kind end,
    first_name = coalesce($5, first_name), first_name_folded = coalesce($6, first_name_folded),
    last_name = coalesce($7, last_name), last_name_folded = coalesce($8, last_name_folded),
    email_version = email_version + case when email <> $2 then 1 else 0 end,
    reset_version = reset_version + case when email <> $2 or $4 is not null then 1 else 0 end
  where id = $1 returning ${USER_COLUMNS}`)
const RECORD_LOGIN = statement(`
  update users set last_login_at = $3, password_hash = $4, foreign_kind = case when password_hash = $4 then foreign_kind end
  where id = $1 and password_hash = $2 and banned = false`)

// Mailed tokens contain a version. It starts at a random number, so that a token of another database that is signed with the same key
// does not match an account of this one.
export const MAX_FIRST_VERSION = 2 ** 30

export type NewUser = Profile & {
  readonly emailKey: string
  readonly passwordHash: string
  readonly role: Role
  readonly verified: boolean
  readonly createdAt: number
}

/** Returns the id of the new user; undefined if the address is taken. */
export async function insertUser(tx: Transaction, user: NewUser): Promise<number | undefined> {
  const { email, emailKey, passwordHash, firstName, lastName, role, verified, createdAt } = user
  const row = await tx.first(
    INSERT,
    email,
    emailKey,
    passwordHash,
    firstName,
    fold(firstName),
    lastName,
    fold(lastName),
    role,
    verified,
    createdAt,
    randomInt(MAX_FIRST_VERSION),
    randomInt(MAX_FIRST_VERSION),
  )
  return row?.id
}

export async function findUserById(db: Reads, id: number): Promise<(User & UserSecrets) | undefined> {
  const row = await db.first(FIND_BY_ID, id)
  return row && toUserWithSecrets(row)
}

/** Waits for other changes to these accounts to commit. Later changes wait until this transaction ends. */
export async function lockAccounts(tx: Transaction, id: number, otherId: number): Promise<void> {
  await tx.all(LOCK_ACCOUNTS, id, otherId)
}

export async function findUserByEmail(db: Reads, emailKey: string): Promise<(User & UserSecrets) | undefined> {
  const row = await db.first(FIND_BY_EMAIL, emailKey)
  return row && toUserWithSecrets(row)
}

export type UserChanges = {
  readonly email?: string | undefined
  readonly emailKey?: string | undefined
  readonly passwordHash?: string | undefined
  readonly firstName?: string | undefined
  readonly lastName?: string | undefined
}

/** Changes only the given fields. Returns undefined if there is no such user; throws UniqueViolation if the address is taken. */
export async function updateUser(tx: Transaction, id: number, changes: UserChanges): Promise<User | undefined> {
  const { email = null, emailKey = null, passwordHash = null, firstName = null, lastName = null } = changes
  const names = [firstName, firstName && fold(firstName), lastName, lastName && fold(lastName)]
  const row = await tx.first(UPDATE, id, email, emailKey, passwordHash, ...names)
  return row && toUser(row)
}

/** Returns true for exactly one of any number of parallel calls. */
export async function markVerified(tx: Transaction, id: number, emailVersion: number): Promise<boolean> {
  return (await tx.run(MARK_VERIFIED, id, emailVersion)) === 1
}

/** Sets the password if the version is still the one that the token names. This invalidates every reset token of the account. */
export async function resetPassword(tx: Transaction, id: number, passwordHash: string, resetVersion: number): Promise<boolean> {
  return (await tx.run(RESET_PASSWORD, id, passwordHash, resetVersion)) === 1
}

/**
 * Records a login and, if given, a stronger hash of the same password. Locks the row of the user until the transaction ends: a password
 * change at the same moment either refuses this login, or sees its session and ends it.
 */
export async function recordLogin(tx: Transaction, id: number, checkedHash: string, now: number, newHash = checkedHash): Promise<boolean> {
  return (await tx.run(RECORD_LOGIN, id, checkedHash, now, newHash)) === 1
}

export function toUser(row: UserRow): User {
  return {
    id: row.id,
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
    role: row.role,
    banned: Boolean(row.banned),
    verified: Boolean(row.verified),
  }
}

/** Reads a user from the values of USER_COLUMNS, in their order. */
export function readUser([id, email, firstName, lastName, role, banned, verified]: readonly [...UserValues, ...unknown[]]): User {
  return { id, email, firstName, lastName, role, banned: Boolean(banned), verified: Boolean(verified) }
}

export function toUserWithSecrets(row: UserSecretsRow): User & UserSecrets {
  return { ...toUser(row), passwordHash: row.password_hash, emailVersion: row.email_version, resetVersion: row.reset_version }
}
