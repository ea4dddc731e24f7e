import type { Actor, Operator, Origin } from '../../model/caller.ts'
import { type Language, type Languages, preferredLanguage } from '../../model/language.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Profile, Role, User } from '../../model/user.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import { insertUser, type NewUser } from '../../storage/repositories/users/user.repository.ts'
import { type ChangeTransaction, changeAsAdmin, type DomainParts } from '../changes/changes.ts'
import { emailKey } from '../values/email.ts'

export type Registrant = Profile & { readonly password: string }

/** An account that an operator or an admin creates. Nobody can log in to one without a password until a reset sets one. */
export type NewAccount = Profile & {
  readonly password?: string | undefined
  readonly role: Role
  readonly verified: boolean
}

/** Creates an account for an operator or an admin. */
export async function createUser(
  { changes, passwords, now }: Pick<DomainParts, 'changes' | 'passwords' | 'now'>,
  by: Actor | Operator,
  { password, ...account }: NewAccount,
): Promise<User> {
  const passwordHash = password === undefined ? NO_PASSWORD : await passwords.hash(password, by.origin.signal)
  const id = await changeAsAdmin(changes, by, (tx) => addAccount(tx, { ...account, passwordHash, createdAt: now() }))
  return { id, ...account, banned: false }
}

/** Inserts an account and records its events. Returns its id; refuses an address that is taken. */
export async function addAccount(tx: ChangeTransaction, account: Omit<NewUser, 'emailKey'>): Promise<number> {
  const userId = await insertUser(tx, { ...account, emailKey: emailKey(account.email) })
  if (userId === undefined) throw new Refusal('email_taken')
  recordCreation(tx, userId, account.role)
  return userId
}

/** The language of somebody who creates their own account. Undefined for a program that names none: `*` is what many send by themselves. */
export function languageOf({ acceptLanguage }: Origin, languages: Languages): Language | undefined {
  return acceptLanguage === undefined || acceptLanguage === '*' ? undefined : preferredLanguage(acceptLanguage, languages)
}

/** One kind of event covers every new admin. */
export function recordCreation(tx: ChangeTransaction, userId: number, role: Role): void {
  tx.record({ kind: 'user.registered', target: userId })
  if (role === 'admin') tx.record({ kind: 'user.promoted', target: userId })
}
