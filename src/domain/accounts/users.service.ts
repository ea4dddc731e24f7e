import type { Caller, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Profile, User } from '../../model/user.ts'
import type { Passwords } from '../../security/password.ts'
import { type Database, type Transaction, UniqueViolation } from '../../storage/database.ts'
import { deleteSessionsOfUser } from '../../storage/repositories/session.repository.ts'
import { findUserById, type UserChanges, updateUser } from '../../storage/repositories/user.repository.ts'
import { requireStillAdmin, requireStillCaller } from '../sessions/still-caller.ts'
import { emailKey } from '../values/email.ts'

export type Edit = { readonly [Field in keyof Profile | 'password']?: string | undefined }

/** What users may do to their own accounts, and an admin or an operator to any. */
export type Users = {
  edit(editor: Caller | Operator, userId: number, edit: Edit, signal?: AbortSignal): Promise<User>
  /** Ends every session of the account but the one that the change comes from. */
  changePassword(editor: Caller | Operator, userId: number, password: string, signal?: AbortSignal): Promise<void>
}

type Parts = { readonly db: Database; readonly passwords: Passwords; readonly now: () => number }

export function createUsers({ db, passwords, now }: Parts): Users {
  async function edit(editor: Caller | Operator, userId: number, edit: Edit, signal?: AbortSignal): Promise<User> {
    const { password, ...profile } = edit
    // A hash is dear: none is made for a user who does not exist.
    if ((await findUserById(db, userId)) === undefined) throw new Refusal('user_not_found')
    const passwordHash = password === undefined ? undefined : await passwords.hash(password, signal)
    const address = profile.email === undefined ? undefined : emailKey(profile.email)
    const user = await apply(editor, userId, { ...profile, emailKey: address, passwordHash }, signal)
    if (user === undefined) throw new Refusal('user_not_found', 'deleted meanwhile')
    return user
  }

  /** The change, the end of the sessions that an old password has opened, and a last look at the editor are one step. */
  async function apply(
    editor: Caller | Operator,
    userId: number,
    changes: UserChanges,
    signal: AbortSignal | undefined,
  ): Promise<User | undefined> {
    try {
      return await db.transaction(
        async (tx) => {
          // The change goes first: on PostgreSQL it waits for a reset that is under way, and the look sees what that has left.
          const user = await updateUser(tx, userId, changes)
          if (editor !== 'operator') await requireStillEditor(tx, editor, userId)
          if (changes.passwordHash !== undefined) await deleteSessionsOfUser(tx, userId, ownSession(editor, userId))
          return user
        },
        { signal },
      )
    } catch (error) {
      if (error instanceof UniqueViolation) throw new Refusal('email_taken', undefined, { cause: error })
      throw error
    }
  }

  function requireStillEditor(tx: Transaction, editor: Caller, userId: number): Promise<unknown> {
    return editor.user.id === userId ? requireStillCaller(tx, editor, now()) : requireStillAdmin(tx, editor, now())
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
