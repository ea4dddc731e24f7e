import type { Actor, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Profile, Role } from '../../model/user.ts'
import { insertUser } from '../../storage/repositories/users/user.repository.ts'
import { type ChangeTransaction, changeAsAdmin, type DomainParts } from '../changes/changes.ts'
import { emailKey } from '../values/email.ts'

export type Registrant = Profile & { readonly password: string }

export type NewAccount = Profile & {
  readonly passwordHash: string
  readonly role: Role
  readonly verified: boolean
  readonly createdAt: number
}

type Parts = Pick<DomainParts, 'changes' | 'passwords' | 'now'>

/** Creates a verified account for an operator or an admin. Returns its id. */
export async function createUser(
  { changes, passwords, now }: Parts,
  by: Actor | Operator,
  { password, ...profile }: Registrant,
  role: Role,
): Promise<number> {
  const passwordHash = await passwords.hash(password, by.origin.signal)
  return changeAsAdmin(changes, by, (tx) => addAccount(tx, { ...profile, passwordHash, role, verified: true, createdAt: now() }))
}

/** Inserts an account and records its events. Returns its id; refuses an address that is taken. */
export async function addAccount(tx: ChangeTransaction, account: NewAccount): Promise<number> {
  const userId = await insertUser(tx, { ...account, emailKey: emailKey(account.email) })
  if (userId === undefined) throw new Refusal('email_taken')
  recordCreation(tx, userId, account.role)
  return userId
}

/** Who looks for new admins finds them by one kind of event, however they became one. */
export function recordCreation(tx: ChangeTransaction, userId: number, role: Role): void {
  tx.record({ kind: 'user.registered', target: userId })
  if (role === 'admin') tx.record({ kind: 'user.promoted', target: userId })
}
