import type { Caller, Operator } from '../model/caller.ts'
import { Refusal } from '../model/refusal.ts'
import type { Profile, User } from '../model/user.ts'
import type { Passwords } from '../security/password.ts'
import { type Database, UniqueViolation } from '../storage/database.ts'
import { deleteSessionsOfUser } from '../storage/session.repository.ts'
import { findUserById, type UserChanges, updateUser } from '../storage/user.repository.ts'
import { emailKey } from './email.ts'

export type Edit = { readonly [Field in keyof Profile | 'password']?: string | undefined }

/** What users may do to their own accounts, and an admin or an operator to any. */
export type Users = {
  edit(editor: Caller | Operator, userId: number, edit: Edit, signal?: AbortSignal): Promise<User>
  /** Ends every session of the account but the one that the change comes from. */
  changePassword(editor: Caller | Operator, userId: number, password: string, signal?: AbortSignal): Promise<void>
}

type Parts = { readonly db: Database; readonly passwords: Passwords }

export function createUsers({ db, passwords }: Parts): Users {
  async function edit(editor: Caller | Operator, userId: number, edit: Edit, signal?: AbortSignal): Promise<User> {
    const { password, ...profile } = edit
    // A hash is dear: none is made for a user who does not exist.
    if ((await findUserById(db, userId)) === undefined) throw new Refusal('user_not_found')
    const passwordHash = password === undefined ? undefined : await passwords.hash(password, signal)
    const address = profile.email === undefined ? undefined : emailKey(profile.email)
    const user = await apply(userId, { ...profile, emailKey: address, passwordHash }, ownSession(editor, userId))
    if (user === undefined) throw new Refusal('user_not_found', 'deleted meanwhile')
    return user
  }

  /** A new password and the end of the sessions that the old one has opened are one step. */
  async function apply(userId: number, changes: UserChanges, keptSessionId: string | undefined): Promise<User | undefined> {
    try {
      if (changes.passwordHash === undefined) return await updateUser(db, userId, changes)
      return await db.transaction(async (tx) => {
        const user = await updateUser(tx, userId, changes)
        await deleteSessionsOfUser(tx, userId, keptSessionId)
        return user
      })
    } catch (error) {
      if (error instanceof UniqueViolation) throw new Refusal('email_taken', undefined, { cause: error })
      throw error
    }
  }

  return {
    edit,
    async changePassword(editor, userId, password, signal) {
      await edit(editor, userId, { password }, signal)
    },
  }
}

/** The session in which somebody changes their own account. Whoever changes another's has none that could be spared. */
function ownSession(editor: Caller | Operator, userId: number): string | undefined {
  return editor !== 'operator' && editor.user.id === userId ? editor.sessionId : undefined
}
