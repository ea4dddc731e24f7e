import { randomInt } from 'node:crypto'
import { type ValuesOf, without } from '../../../model/entity.ts'
import type { Language } from '../../../model/language.ts'
import {
  ACCOUNT,
  type Account,
  OWN_ACCOUNT,
  type OwnAccount,
  type Role,
  USER,
  USER_PLAN,
  USER_ROW,
  type User,
  type UserRow,
} from '../../../model/user.ts'
import { insertInto, type Reads, statement, type Transaction } from '../../database.ts'
import { changes, exists, findsIn, listsIn, runs } from '../../repository-functions.ts'

// The database assigns the id.
const NEW_ROW = without(USER_ROW, 'id')
/** An account begins without them. */
export const NO_FACTORS = { totp: false, passkeys: 0 } as const
const MAX_FIRST_VERSION = 2 ** 30

const INSERT = statement<{ id: number }>(`${insertInto(NEW_ROW)} on conflict (email_key) do nothing returning id`)
// SQLite has a single writer and needs no lock, so it looks nothing up.
const LOCK_ACCOUNTS = statement({
  postgres: 'select id from users where id in ($1, $2) order by id for no key update',
  sqlite: 'select 1 where $1 is null and $2 is null',
})
// A new address invalidates tokens that were mailed to the old one. A new password invalidates reset tokens.
const UPDATE = statement(
  `update users set
    email = coalesce($2, email), email_key = coalesce($3, email_key), password_hash = coalesce($4, password_hash),
    foreign_kind = case when $4 is null then foreign_kind end,
    first_name = coalesce($5, first_name), first_name_folded = coalesce($6, first_name_folded),
    last_name = coalesce($7, last_name), last_name_folded = coalesce($8, last_name_folded),
    language = nullif(coalesce($9, language), ''),
    email_version = email_version + case when email <> $2 then 1 else 0 end,
    reset_version = reset_version + case when email <> $2 or $4 is not null then 1 else 0 end
  where id = $1 returning ${USER.columns}`,
  USER.fromRow,
)
const RECORD_LOGIN = statement(`
  update users set last_login_at = $3, password_hash = $4, foreign_kind = case when password_hash = $4 then foreign_kind end
  where id = $1 and password_hash = $2 and banned = false and totp = false`)

export type NewUser = Omit<
  UserRow,
  'id' | 'banned' | 'firstNameFolded' | 'lastNameFolded' | keyof ReturnType<typeof firstVersions> | keyof typeof NO_FACTORS
>

/** Returns the id of the new user; undefined if the address is taken. */
export async function insertUser(tx: Transaction, user: NewUser): Promise<number | undefined> {
  const row = await tx.first(
    INSERT,
    ...NEW_ROW.toValues({ ...user, banned: false, ...foldedNames(user), ...firstVersions(), ...NO_FACTORS }),
  )
  return row?.id
}

/**
 * Converts text to lower case for a search that ignores case. Both stored text and search terms pass through this function. The
 * databases fold nothing themselves: their results would differ, and SQLite knows only ASCII.
 */
export function fold(text: string): string {
  // The Greek sigma has two lower-case forms, depending on its position in a word. A search treats them as one letter.
  return text.toLowerCase().replaceAll('ς', 'σ')
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

export const findUserById = findsIn<Account, [id: number]>(ACCOUNT, 'where id = $1')

export const findUserByEmail = findsIn<Account, [emailKey: string]>(ACCOUNT, 'where email_key = $1')

export const findOwnAccount = findsIn<OwnAccount, [id: number]>(OWN_ACCOUNT, 'where id = $1')

/** One page of all users in order of id, starting after the given id. */
export const listUsersAfter = listsIn<User, [id: number, limit: number]>(USER, 'where id > $1 order by id limit $2')

/** Waits for other changes to these accounts to commit. Later changes wait until this transaction ends. */
export async function lockAccounts(tx: Transaction, id: number, otherId: number): Promise<void> {
  await tx.all(LOCK_ACCOUNTS, id, otherId)
}

export type UserChanges = Readonly<
  Partial<Record<'email' | 'emailKey' | 'passwordHash' | 'firstName' | 'lastName', string | undefined>>
> & {
  /** Null forgets it. */
  readonly language?: Language | null | undefined
}

/** Changes only the given fields. Returns undefined if there is no such user; throws UniqueViolation if the address is taken. */
export function updateUser(tx: Transaction, id: number, changed: UserChanges): Promise<User | undefined> {
  const { email = null, emailKey = null, passwordHash = null, firstName = null, lastName = null, language } = changed
  const names = [firstName, firstName && fold(firstName), lastName, lastName && fold(lastName)]
  return tx.first(UPDATE, id, email, emailKey, passwordHash, ...names, language === undefined ? null : (language ?? ''))
}

/**
 * Verifies an account for the person whom its address belongs to, and ends its password, its factors and everything that was mailed for it.
 * Returns true for exactly one of any number of parallel calls.
 */
export const takeOverUser = changes<Transaction, [id: number, noPassword: string, language: Language | null]>(`
  update users set verified = true, language = coalesce($3, language), password_hash = $2, foreign_kind = null, totp = false, passkeys = 0,
    email_version = email_version + 1, reset_version = reset_version + 1
  where id = $1 and verified = false and banned = false`)

/** Returns true for exactly one of any number of parallel calls. */
export const markVerified = changes<Transaction, [id: number, emailVersion: number]>(
  'update users set verified = true where id = $1 and verified = false and banned = false and email_version = $2',
)

/** Sets the password if the version is still the one that the token names. This invalidates every reset token of the account. */
export const resetPassword = changes<Transaction, [id: number, passwordHash: string, resetVersion: number]>(`
  update users set password_hash = $2, foreign_kind = null, reset_version = reset_version + 1
  where id = $1 and reset_version = $3 and banned = false`)

/**
 * Records a login and, if given, a stronger hash of the same password. Locks the row of the user until the transaction ends: a password
 * change at the same moment either refuses this login, or sees its session and ends it. False if a login needs a second step since.
 */
export async function recordLogin(tx: Transaction, id: number, checkedHash: string, now: number, newHash = checkedHash): Promise<boolean> {
  return (await tx.run(RECORD_LOGIN, id, checkedHash, now, newHash)) === 1
}

/**
 * Records a login that compared no password. Locks the row of the user, like recordLogin(). False for a login without a second factor if it
 * needs a second step since.
 */
export const recordSignIn = changes<Transaction, [id: number, resetVersion: number, now: number, hasFactor: boolean]>(`
  update users set last_login_at = $3
  where id = $1 and reset_version = $2 and banned = false and verified = true and (totp = false or $4 = true)`)

/** The same for the first step of two. False if the account is gone, banned, or has another password by now. */
export const recordFirstStep = changes<Transaction, [id: number, resetVersion: number, checkedHash: string, newHash: string]>(`
  update users set password_hash = case when password_hash = $3 then $4 else password_hash end,
    foreign_kind = case when password_hash <> $3 or $3 = $4 then foreign_kind end
  where id = $1 and reset_version = $2 and banned = false and totp = true`)

/** Returns false if the user has the role already. Revoking the admin role requires the lock on the admins. */
export const setRole = changes<Transaction, [id: number, role: Role]>('update users set role = $2 where id = $1 and role <> $2')

/** Invalidates the reset tokens of the account. Returns false if the user is banned already. */
export const banUser = changes<Transaction, [id: number]>(
  'update users set banned = true, reset_version = reset_version + 1 where id = $1 and banned = false',
)

/** Returns false if the user is not banned. */
export const unbanUser = changes<Transaction, [id: number]>('update users set banned = false where id = $1 and banned = true')

/** Returns false if the user is verified already. */
export const setVerified = changes<Transaction, [id: number]>('update users set verified = true where id = $1 and verified = false')

/** Returns false if the account is not verified. */
export const unsetVerified = changes<Transaction, [id: number]>('update users set verified = false where id = $1 and verified = true')

/** Deletes a user, with their sessions and API keys. */
export const deleteUser = runs<Transaction, [id: number]>('delete from users where id = $1')

/** Returns false if there is no such account, or if it is a verified admin already. */
export const promoteByEmail = changes<Transaction, [emailKey: string]>(
  `update users set role = 'admin', verified = true where email_key = $1 and (role <> 'admin' or not verified)`,
)

export const hasAdmin = exists<Reads, []>(`select id from users where role = 'admin' limit 1`)

/** Whether another user has the admin role, banned or not. */
export const hasOtherAdmin = exists<Transaction, [id: number]>(`select id from users where role = 'admin' and id <> $1 limit 1`)

/** Whether another admin can log in: verified and not banned. */
export const hasOtherActiveAdmin = exists<Transaction, [id: number]>(
  `select id from users where role = 'admin' and id <> $1 and banned = false and verified = true limit 1`,
)

/** The plan that an admin has chosen for an account, if any. */
export const findPlanName = findsIn<ValuesOf<typeof USER_PLAN.fields>, [id: number]>(USER_PLAN, 'where id = $1')

/** Returns false if the account has this plan already. */
export const setPlanName = changes<Transaction, [id: number, plan: string]>(
  'update users set plan = $2 where id = $1 and (plan is null or plan <> $2)',
)
