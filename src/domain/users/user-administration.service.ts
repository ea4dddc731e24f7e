import type { Actor, Operator } from '../../model/caller.ts'
import type { EventKind } from '../../model/event.ts'
import type { Factors } from '../../model/factor.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Account, Profile, User, UserSearch } from '../../model/user.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import type { Reads } from '../../storage/database.ts'
import { deleteApiKeysOfUser } from '../../storage/repositories/keys/key.repository.ts'
import { enqueueMail } from '../../storage/repositories/mail/mail.repository.ts'
import { deleteUsageOfUser } from '../../storage/repositories/plans/usage.repository.ts'
import { deleteOldestSessions } from '../../storage/repositories/sessions/session.repository.ts'
import { countRecoveryCodes } from '../../storage/repositories/sign-in/factor.repository.ts'
import {
  banUser,
  deleteUser,
  findUserByEmail,
  findUserById,
  hasOtherActiveAdmin,
  hasOtherAdmin,
  listUsersAfter,
  setRole,
  setVerified,
  unbanUser,
  unsetVerified,
  updateUser,
} from '../../storage/repositories/users/user.repository.ts'
import { searchUsers } from '../../storage/repositories/users/user-search.repository.ts'
import { foundUser, requireReader } from '../changes/callers.ts'
import { type AccountChange, type Changes, type ChangeTransaction, changedFields, type DomainParts, pagesOf } from '../changes/changes.ts'
import { storedDays } from '../plans/usage.service.ts'
import { emailKey } from '../values/email.ts'
import { refusingTakenEmail } from './email-changes.service.ts'

export type UserAdministration = ReturnType<typeof createUserAdministration>

const LIST_PAGE_SIZE = 250

type AccountEdit = Profile & Pick<User, 'verified'>

type Parts = Pick<DomainParts, 'reads' | 'lists' | 'changes' | 'now'> & Partial<Pick<DomainParts, 'onMailQueued'>>

/** The changes of an admin who is logged in, or of an operator, and the lists that they read. */
export function createUserAdministration({ reads, lists, changes, now, onMailQueued = () => undefined }: Parts) {
  type Work = (tx: ChangeTransaction, target: User) => Promise<void>

  function change(by: Actor | Operator, userId: number, work: Work): Promise<void> {
    return changes.toAccount(by, { userId, allowed: 'admin' }, work)
  }

  /**
   * A change that may remove an admin. Such changes run one at a time across all processes: of two admins who ban or delete each other
   * at the same moment, the second is no longer an admin when their change is checked.
   */
  function changeAdmins(by: Actor | Operator, userId: number, work: Work): Promise<void> {
    return changes.toAccount(by, { userId, allowed: 'admin', lock: 'admins' }, work)
  }

  /** A change by one statement, which returns whether it has changed anything. */
  function changeBy(kind: EventKind, apply: (tx: ChangeTransaction, userId: number) => Promise<boolean>) {
    return (by: Actor | Operator, userId: number) =>
      change(by, userId, async (tx) => {
        if (await apply(tx, userId)) tx.record({ kind, target: userId })
      })
  }

  return {
    /** All users in order of id, one page at a time. Refuses once the reader is no longer an admin. */
    list: ({ caller }: Actor | Operator) =>
      pagesOf(LIST_PAGE_SIZE, async (afterId) => {
        if (caller !== 'operator') await requireReader(reads, caller, now())
        return listUsersAfter(lists, afterId, LIST_PAGE_SIZE)
      }),
    find: async (userId: number): Promise<User> => foundUser(await findUserById(reads, userId)),
    findByEmail: async (email: string): Promise<User> => foundUser(await findUserByEmail(reads, emailKey(email))),
    /** What an account has besides its password. */
    factors: (userId: number) => factorsOf(reads, userId),
    /** One page of the matching users, in order of id, and the number of all matches. */
    search: (search: UserSearch) => searchUsers(lists, search),
    makeAdmin: changeBy('user.promoted', (tx, userId) => setRole(tx, userId, 'admin')),
    unban: changeBy('user.unbanned', unbanUser),
    verify: changeBy('user.verified', setVerified),
    /** Changes what differs, all of it or nothing. The account cannot be used while it is not verified. Returns whether anything differed. */
    edit: (by: Actor | Operator, userId: number, edited: AccountEdit): Promise<boolean> =>
      refusingTakenEmail(
        changes.toAccount(by, { userId, allowed: 'admin', lock: 'admins' }, async (tx, target) => {
          const changed = [...(await editProfile(tx, target, edited)), ...(await editVerification(tx, target, edited))]
          if (changed.length > 0) tx.record({ kind: 'user.edited', target: userId, changed })
          return changed.length > 0 || edited.verified !== target.verified
        }),
      ),
    /** Queues the mail that the owner of the account could request as well. */
    async sendPasswordReset(by: Actor | Operator, userId: number): Promise<void> {
      await change(by, userId, async (tx, { email }) => {
        await enqueueMail(tx, 'reset', emailKey(email), now())
        tx.record({ kind: 'mail.requested', target: userId })
      })
      onMailQueued()
    },
    async ban(by: Actor | Operator, userId: number): Promise<void> {
      if (by.caller !== 'operator' && by.caller.user.id === userId) throw new Refusal('ban_self')
      await changeAdmins(by, userId, async (tx, target) => {
        if (target.banned) return
        // An admin who bans another admin stays active. Only an operator could ban the last active admin.
        if (target.role === 'admin' && !(await hasOtherActiveAdmin(tx, userId))) throw new Refusal('last_admin')
        if (await banUser(tx, userId)) tx.record({ kind: 'user.banned', target: userId })
      })
    },
    revokeAdmin: (by: Actor | Operator, userId: number) =>
      changeAdmins(by, userId, async (tx, target) => {
        if (target.role !== 'admin') return
        // An admin who gives up the own role is not there to unban the other admins.
        const isOwn = by.caller !== 'operator' && by.caller.user.id === userId
        if (!(await (isOwn ? hasOtherActiveAdmin : hasOtherAdmin)(tx, userId))) throw new Refusal('revoke_last_admin')
        if (await setRole(tx, userId, 'user')) tx.record({ kind: 'user.demoted', target: userId })
      }),
    /** Deletes in batches; calls `onProgress` with the number of deleted rows after each batch but the last. */
    remove: (by: Actor | Operator, userId: number, onProgress?: Removal['onProgress']) =>
      removeAccount(changes, by, { userId, allowed: 'admin', now, onProgress }),
  }
}

/** Returns the names of the fields that differed. */
async function editProfile(tx: ChangeTransaction, { id, ...current }: User, edited: Profile): Promise<readonly string[]> {
  const differing = (name: keyof Profile) => (edited[name] === current[name] ? undefined : edited[name])
  const profile = { email: differing('email'), firstName: differing('firstName'), lastName: differing('lastName') }
  const changed = changedFields(profile)
  if (changed.length > 0) await updateUser(tx, id, { ...profile, emailKey: profile.email && emailKey(profile.email) })
  return changed
}

/** A verification has its own event, and is not in the returned fields. */
async function editVerification(tx: ChangeTransaction, { id, role }: User, { verified }: AccountEdit): Promise<readonly string[]> {
  if (verified) {
    if (await setVerified(tx, id)) tx.record({ kind: 'user.verified', target: id })
    return []
  }
  if (!(await unsetVerified(tx, id))) return []
  if (role === 'admin' && !(await hasOtherActiveAdmin(tx, id))) throw new Refusal('last_admin')
  return ['verified']
}

type Removal = Pick<AccountChange, 'userId' | 'allowed'> & {
  readonly now: () => number
  /** Refuses before anything is deleted. */
  readonly check?: ((target: Account) => void) | undefined
  /** Called with the number of deleted rows after each batch but the last. */
  readonly onProgress?: ((deletedRows: number) => void) | undefined
}

// On SQLite, which deletes on this thread, a batch of this size takes a few milliseconds.
const BATCH_SIZE = 100
// Rows without an index of their own are deleted faster.
const USE_BATCH_SIZE = 500

/**
 * Deletes an account with its sessions, its API keys and their use, unless it is the last admin. An account of an older version may own any number of
 * rows: deleting them in one statement would delay every other write.
 */
export async function removeAccount(changes: Changes, by: Actor | Operator, removal: Removal): Promise<void> {
  const { userId, allowed, now, check, onProgress } = removal
  // An owner who leaves is not there to unban the other admins.
  const hasSuccessor = allowed === 'owner' ? hasOtherActiveAdmin : hasOtherAdmin
  const { sessionId: exceptSessionId, key } = by.caller === 'operator' ? {} : by.caller

  let isDone = false

  /** Returns the number of deleted rows. The account itself goes with the last batch. */
  function removeSome(remover: Actor | Operator, requireRemovable?: Removal['check']): Promise<number> {
    return changes.toAccount(remover, { userId, allowed, lock: 'admins' }, async (tx, target) => {
      requireRemovable?.(target)
      if (target.role === 'admin' && !(await hasSuccessor(tx, userId))) throw new Refusal('last_admin')
      // Callers who delete their own account need their credential until the end.
      const keys = await deleteApiKeysOfUser(tx, userId, BATCH_SIZE, key?.id)
      const sessions = await deleteOldestSessions(tx, userId, { kept: 0, limit: BATCH_SIZE, exceptSessionId })
      const uses = await deleteUsageOfUser(tx, userId, JSON.stringify(storedDays(now())), USE_BATCH_SIZE)
      isDone = keys + sessions < BATCH_SIZE && uses < USE_BATCH_SIZE
      if (isDone) {
        await deleteUser(tx, userId)
        tx.record({ kind: 'user.deleted', target: userId })
      } else {
        recordBatch(tx, userId, keys, sessions)
      }
      return keys + sessions + uses
    })
  }

  // Once begun, the deletion is completed even if the client disconnects.
  const persistent = { ...by, origin: { ...by.origin, signal: undefined } }
  let deleted = await removeSome(by, check)
  while (!isDone) {
    onProgress?.(deleted)
    deleted += await removeSome(persistent)
  }
}

/** The deletion may end after a batch, by a crash or because the caller loses their access: then its rows are gone and the account is not. */
function recordBatch(tx: ChangeTransaction, userId: number, keys: number, sessions: number): void {
  if (keys > 0) tx.record({ kind: 'key.revoked', target: userId, count: keys })
  if (sessions > 0) tx.record({ kind: 'session.revoked', target: userId, count: sessions })
}

/** What an account has besides its password. */
export async function factorsOf(reads: Reads, userId: number): Promise<Factors> {
  const [user, recoveryCodes] = await Promise.all([findUserById(reads, userId), countRecoveryCodes(reads, userId)])
  if (user === undefined) throw new Refusal('user_not_found')
  return { hasPassword: user.passwordHash !== NO_PASSWORD, totp: user.totp, passkeys: user.passkeys, recoveryCodes }
}
