import type { Actor, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Profile, User } from '../../model/user.ts'
import { UniqueViolation } from '../../storage/database.ts'
import { findUserById, updateUser } from '../../storage/repositories/accounts/user.repository.ts'
import { deleteSessionsOfUser } from '../../storage/repositories/sessions/session.repository.ts'
import { changedFields } from '../changed-fields.ts'
import type { ChangeTransaction } from '../changes.ts'
import type { DomainParts } from '../parts.ts'
import { requireReader } from '../sessions/callers.ts'
import { trimSessions } from '../sessions/open-session.ts'
import { emailKey } from '../values/email.ts'

export type Edit = { readonly [Field in keyof Profile | 'password']?: string | undefined }

/** The changes that users may make to their own accounts, and an admin or an operator to any account. */
export type Users = {
  /** A new password ends every session of the account except the one that makes the change. */
  edit(editor: Actor | Operator, userId: number, edit: Edit): Promise<User>
  changePassword(editor: Actor | Operator, userId: number, password: string): Promise<void>
}

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'passwords' | 'now'>

export function createUsers({ reads, changes, passwords, now }: Parts): Users {
  async function edit(editor: Actor | Operator, userId: number, { password, ...profile }: Edit): Promise<User> {
    // Hashing is expensive: nothing is hashed for a caller who may not edit, or for a user who does not exist.
    if (editor.caller !== 'operator') await requireReader(reads, editor.caller, userId, now())
    if ((await findUserById(reads, userId)) === undefined) throw new Refusal('user_not_found')
    const passwordHash = password === undefined ? undefined : await passwords.hash(password, editor.origin.signal)
    const address = profile.email === undefined ? undefined : emailKey(profile.email)
    const changed = changedFields(profile)
    const change = <Result>(work: (tx: ChangeTransaction) => Promise<Result>) =>
      changes.toAccount(editor, { userId, allowed: 'owner' }, work)
    if (passwordHash !== undefined) await trimSessions(reads, change, userId, ownSession(editor, userId))
    try {
      return await change(async (tx) => {
        const user = await updateUser(tx, userId, { ...profile, emailKey: address, passwordHash })
        if (user === undefined) throw new Refusal('user_not_found')
        if (changed.length > 0) tx.record({ kind: 'user.edited', target: userId, changed })
        if (passwordHash !== undefined) {
          await deleteSessionsOfUser(tx, userId, ownSession(editor, userId))
          tx.record({ kind: 'user.password_changed', target: userId })
        }
        return user
      })
    } catch (error) {
      if (error instanceof UniqueViolation) throw new Refusal('email_taken', undefined, { cause: error })
      throw error
    }
  }

  return {
    edit,
    async changePassword(editor, userId, password) {
      await edit(editor, userId, { password })
    },
  }
}

/** The session in which users change their own account. It survives the change. */
function ownSession({ caller }: Actor | Operator, userId: number): string | undefined {
  return caller !== 'operator' && caller.user.id === userId ? caller.sessionId : undefined
}
