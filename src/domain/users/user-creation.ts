import type { Actor, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Profile, Role } from '../../model/user.ts'
import { insertUser, type NewUser } from '../../storage/repositories/users/user.repository.ts'
import { type ChangeTransaction, changeAsAdmin, type DomainParts } from '../changes/changes.ts'
import { emailKey } from '../values/email.ts'

export type Registrant = Profile & { readonly password: string }

/** Creates a verified account for an operator or an admin. Returns its id. */
export async function createUser(
  { changes, passwords, now }: Pick<DomainParts, 'changes' | 'passwords' | 'now'>,
  by: Actor | Operator,
  { password, ...profile }: Registrant,
  role: Role,
): Promise<number> {
  const passwordHash = await passwords.hash(password, by.origin.signal)
  return changeAsAdmin(changes, by, (tx) => addAccount(tx, { ...profile, passwordHash, role, verified: true, createdAt: now() }))
}

/** Inserts an account and records its events. Returns its id; refuses an address that is taken. */
export async function addAccount(tx: ChangeTransaction, account: Omit<NewUser, 'emailKey'>): Promise<number> {
  const userId = await insertUser(tx, { ...account, emailKey: emailKey(account.email) })
  if (userId === undefined) throw new Refusal('email_taken')
  recordCreation(tx, userId, account.role)
  return userId
}

/** One kind of event covers every new admin. */
export function recordCreation(tx: ChangeTransaction, userId: number, role: Role): void {
  tx.record({ kind: 'user.registered', target: userId })
  if (role === 'admin') tx.record({ kind: 'user.promoted', target: userId })
}
