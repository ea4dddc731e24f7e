import type { Actor, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Account, OwnAccount, Profile, User } from '../../model/user.ts'
import { deleteSessionsOfUser } from '../../storage/repositories/sessions/session.repository.ts'
import { findOwnAccount, findUserById, type UserChanges, updateUser } from '../../storage/repositories/users/user.repository.ts'
import { foundUser, isConfirmed, requireReader } from '../changes/callers.ts'
import { type ChangeTransaction, changedFields, type DomainParts } from '../changes/changes.ts'
import type { Limiter } from '../limits/rate-limits.service.ts'
import { replacePageSession, trimSessions } from '../sessions/sessions.service.ts'
import { emailKey } from '../values/email.ts'
import { refusingTakenEmail, requestEmailChange } from './email-changes.service.ts'

export type Edit = { readonly [Field in keyof Profile | 'password']?: string | undefined } & Pick<UserChanges, 'language'>

export type Users = ReturnType<typeof createUsers>

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'passwords' | 'now' | 'tokens' | 'onMailQueued'> & {
  /** For changes that send a mail. */
  readonly limiter: Pick<Limiter, 'countMail'>
}

/** The last step of a change, in its transaction. */
type Finish<Result> = (tx: ChangeTransaction, user: User) => Promise<Result>

/** Refuses a change inside its transaction. */
type Check = (account: Account) => void

const unchanged: Finish<User> = async (_tx, user) => user

/** The changes that users may make to their own accounts, and an admin or an operator to any account. */
export function createUsers({ reads, changes, passwords, now, tokens, limiter, onMailQueued }: Parts) {
  /** The account, if it exists and the editor may change it. */
  async function requireEditable({ caller }: Actor | Operator, userId: number): Promise<Account> {
    if (caller !== 'operator') await requireReader(reads, caller, now(), userId)
    return foundUser(await findUserById(reads, userId))
  }

  /** A new password would confirm the session that sets it, so that a stolen session could remove the second factor. */
  function requireConfirmed({ caller }: Actor | Operator, { id, totp, passkeys }: Account): void {
    const hasFactor = totp || passkeys > 0
    if (caller !== 'operator' && caller.user.id === id && hasFactor && !isConfirmed(caller, now()))
      throw new Refusal('confirmation_required')
  }

  async function change<Result>(
    editor: Actor | Operator,
    userId: number,
    edit: Edit,
    finish: Finish<Result>,
    check: Check = () => undefined,
  ): Promise<Result> {
    const { password, ...profile } = edit
    // Hashing is expensive: nothing is hashed for a caller who may not edit, or for a user who does not exist.
    const passwordHash = password === undefined ? undefined : await passwords.hash(password, editor.origin.signal)
    const address = profile.email === undefined ? undefined : emailKey(profile.email)
    const changed = changedFields(profile)
    const toAccount = <Done>(work: (tx: ChangeTransaction) => Promise<Done>) =>
      changes.toAccount(editor, { userId, allowed: 'owner' }, (tx, account) => {
        check(account)
        return work(tx)
      })
    if (passwordHash !== undefined) await trimSessions(reads, toAccount, userId, ownSession(editor, userId))
    const changing = toAccount(async (tx) => {
      const user = foundUser(await updateUser(tx, userId, { ...profile, emailKey: address, passwordHash }))
      if (changed.length > 0) tx.record({ kind: 'user.edited', target: userId, changed })
      if (passwordHash !== undefined) {
        await deleteSessionsOfUser(tx, userId, ownSession(editor, userId))
        tx.record({ kind: 'user.password_changed', target: userId })
      }
      return finish(tx, user)
    })
    return refusingTakenEmail(changing)
  }

  /** A new password ends every session of the account except the one that makes the change. */
  async function edit(editor: Actor | Operator, userId: number, changed: Edit): Promise<User> {
    const user = await requireEditable(editor, userId)
    if (changed.password !== undefined) requireConfirmed(editor, user)
    return change(editor, userId, changed, unchanged)
  }

  return {
    edit,
    /** An account with what its owner may know besides the profile. */
    details: async (userId: number): Promise<OwnAccount> => foundUser(await findOwnAccount(reads, userId)),
    /** Like `edit`, but a new address takes effect when the link that is mailed to it is opened. Returns the account with its present address. */
    async editAndConfirm(editor: Actor | Operator, userId: number, { email, ...others }: Edit): Promise<User> {
      const account = await requireEditable(editor, userId)
      const { email: current } = account
      if (others.password !== undefined) requireConfirmed(editor, account)
      if (email === undefined || email === current) return change(editor, userId, others, unchanged)
      // Anybody with an account could otherwise have mails sent to any address, in any number.
      await limiter.countMail(email, editor.origin.ip)
      const user = await change(editor, userId, others, async (tx, account) => {
        await requestEmailChange(tx, account, email, now())
        return account
      })
      onMailQueued()
      return user
    },
    async changePassword(editor: Actor | Operator, userId: number, password: string): Promise<void> {
      await edit(editor, userId, { password })
    },
    /** A new password in place of the one that was compared. */
    async replacePassword(actor: Actor, password: string, check: Check): Promise<void> {
      await change(actor, actor.caller.user.id, { password }, unchanged, check)
    },
    /**
     * A new password that users choose for themselves on the web pages. Ends every session of the account, also the caller's own, and opens
     * another one. Returns the token for its cookie.
     */
    async changeOwnPassword(actor: Actor, password: string): Promise<string> {
      const { id } = await requireEditable(actor, actor.caller.user.id)
      return change(actor, id, { password }, (tx) => replacePageSession(tx, tokens, actor, now()))
    },
  }
}

/** The session in which users change their own account. It survives the change, unless the change replaces it. */
function ownSession({ caller }: Actor | Operator, userId: number): string | undefined {
  return caller !== 'operator' && caller.user.id === userId ? caller.sessionId : undefined
}
