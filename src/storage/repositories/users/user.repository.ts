import { randomInt } from 'node:crypto'
import { entity } from '../../../model/entity.ts'
import { USER, USER_ROW, USER_SECRETS, type User, type UserRow, type UserSecrets } from '../../../model/user.ts'
import { insertInto, type Reads, type StoredRow, statement, type Transaction } from '../../database.ts'
import { fold } from './folding.ts'

const ACCOUNT = entity('users', { ...USER.fields, ...USER_SECRETS.fields })
// The database assigns the id.
const { id: _, ...NEW_FIELDS } = USER_ROW.fields
const NEW_ROW = entity('users', NEW_FIELDS)

const INSERT = statement<{ id: number }>(`${insertInto('users', NEW_ROW)} on conflict (email_key) do nothing returning id`)
const FIND_BY_ID = statement<StoredRow>(`select ${ACCOUNT.columns} from users where id = $1`)
// SQLite has a single writer and needs no lock.
const LOCK_ACCOUNTS = statement<{ id: number }>(
  'select id from users where id in ($1, $2) order by id for no key update',
  'select id from users where id in ($1, $2)',
)
const FIND_BY_EMAIL = statement<StoredRow>(`select ${ACCOUNT.columns} from users where email_key = $1`)
const MARK_VERIFIED = statement(`
  update users set verified = true where id = $1 and verified = false and banned = false and email_version = $2`)
const RESET_PASSWORD = statement(`
  update users set password_hash = $2, foreign_kind = null, reset_version = reset_version + 1 where id = $1 and reset_version = $3 and banned = false`)
// A new address invalidates tokens that were mailed to the old one. A new password invalidates reset tokens.
const UPDATE = statement<StoredRow>(`
  update users set
    email = coalesce($2, email), email_key = coalesce($3, email_key), password_hash = coalesce($4, password_hash),
    foreign_kind = case when $4 is null then foreign_kind end,
    first_name = coalesce($5, first_name), first_name_folded = coalesce($6, first_name_folded),
    last_name = coalesce($7, last_name), last_name_folded = coalesce($8, last_name_folded),
    email_version = email_version + case when email <> $2 then 1 else 0 end,
    reset_version = reset_version + case when email <> $2 or $4 is not null then 1 else 0 end
  where id = $1 returning ${USER.columns}`)
const RECORD_LOGIN = statement(`
  update users set last_login_at = $3, password_hash = $4, foreign_kind = case when password_hash = $4 then foreign_kind end
  where id = $1 and password_hash = $2 and banned = false`)

const MAX_FIRST_VERSION = 2 ** 30

export type NewUser = Omit<UserRow, 'id' | 'banned' | 'firstNameFolded' | 'lastNameFolded' | 'emailVersion' | 'resetVersion'>

/** Returns the id of the new user; undefined if the address is taken. */
export async function insertUser(tx: Transaction, user: NewUser): Promise<number | undefined> {
  const row = await tx.first(INSERT, ...NEW_ROW.toValues({ ...user, banned: false, ...foldedNames(user), ...firstVersions() }))
  return row?.id
}

/** The copies of names that searches read. */
export function foldedNames({ firstName, lastName }: Pick<User, 'firstName' | 'lastName'>) {
  return { firstNameFolded: fold(firstName), lastNameFolded: fold(lastName) }
}

/**
 * Mailed tokens contain a version. It starts at a random number, so that a token of another database that is signed with the same key does
 * not match an account of this one.
 */
export function firstVersions() {
  return { emailVersion: randomInt(MAX_FIRST_VERSION), resetVersion: randomInt(MAX_FIRST_VERSION) }
}

export async function findUserById(db: Reads, id: number): Promise<(User & UserSecrets) | undefined> {
  const row = await db.first(FIND_BY_ID, id)
  return row && ACCOUNT.fromRow(row)
}

/** Waits for other changes to these accounts to commit. Later changes wait until this transaction ends. */
export async function lockAccounts(tx: Transaction, id: number, otherId: number): Promise<void> {
  await tx.all(LOCK_ACCOUNTS, id, otherId)
}

export async function findUserByEmail(db: Reads, emailKey: string): Promise<(User & UserSecrets) | undefined> {
  const row = await db.first(FIND_BY_EMAIL, emailKey)
  return row && ACCOUNT.fromRow(row)
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
  return row && USER.fromRow(row)
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
