import type { Actor, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { FoundUsers, User, UserSearch, UserSecrets } from '../../model/user.ts'
import { deleteApiKeysOfUser } from '../../storage/repositories/keys/key.repository.ts'
import { enqueueMail } from '../../storage/repositories/mail/mail.repository.ts'
import { deleteOldestSessions } from '../../storage/repositories/sessions/session.repository.ts'
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
} from '../../storage/repositories/users/user.repository.ts'
import { searchUsers } from '../../storage/repositories/users/user-search.repository.ts'
import { requireReader } from '../changes/callers.ts'
import type { AccountChange, Changes, ChangeTransaction, DomainParts } from '../changes/changes.ts'
import { emailKey } from '../values/email.ts'

/** An admin who is logged in, or an operator. */
export type Administrator = Actor | Operator

export type UserAdministration = {
  /** All users in order of id, one page at a time, so that memory does not grow with their number. Refuses once the reader is no longer an admin. */
  list(reader: Administrator): AsyncIterable<readonly User[]>
  find(userId: number): Promise<User>
  findByEmail(email: string): Promise<User>
  /** One page of the matching users, in order of id, and the number of all matches. */
  search(search: UserSearch): Promise<FoundUsers>
  makeAdmin(administrator: Administrator, userId: number): Promise<void>
  revokeAdmin(administrator: Administrator, userId: number): Promise<void>
  ban(administrator: Administrator, userId: number): Promise<void>
  unban(administrator: Administrator, userId: number): Promise<void>
  verify(administrator: Administrator, userId: number): Promise<void>
  /** Queues the mail that the owner of the account could request as well. */
  sendPasswordReset(administrator: Administrator, userId: number): Promise<void>
  /** Deletes in batches; calls `onProgress` with the number of deleted rows after each batch but the last. */
  remove(administrator: Administrator, userId: number, onProgress?: (deletedRows: number) => void): Promise<void>
}

const LIST_PAGE_SIZE = 250

type Parts = Pick<DomainParts, 'reads' | 'lists' | 'changes' | 'now'> & Partial<Pick<DomainParts, 'onMailQueued'>>

export function createUserAdministration({ reads, lists, changes, now, onMailQueued = () => undefined }: Parts): UserAdministration {
  function change(
    administrator: Administrator,
    userId: number,
    work: (tx: ChangeTransaction, target: User) => Promise<void>,
  ): Promise<void> {
    return changes.toAccount(administrator, { userId, allowed: 'admin' }, work)
  }

  /**
   * A change that may remove an admin. Such changes run one at a time across all processes: of two admins who ban or delete each other
   * at the same moment, the second is no longer an admin when their change is checked.
   */
  function changeAdmins(
    administrator: Administrator,
    userId: number,
    work: (tx: ChangeTransaction, target: User) => Promise<void>,
  ): Promise<void> {
    return changes.toAccount(administrator, { userId, allowed: 'admin', lock: 'admins' }, work)
  }

  async function* list({ caller }: Administrator): AsyncIterable<readonly User[]> {
    for (let lastId = 0; ; ) {
      if (caller !== 'operator') await requireReader(reads, caller, now())
      const page = await listUsersAfter(lists, lastId, LIST_PAGE_SIZE)
      if (page.length > 0) yield page
      if (page.length < LIST_PAGE_SIZE) return
      lastId = page.at(-1)?.id ?? lastId
    }
  }

  return {
    list,
    async find(userId) {
      const user = await findUserById(reads, userId)
      if (user === undefined) throw new Refusal('user_not_found')
      return user
    },
    async findByEmail(email) {
      const user = await findUserByEmail(reads, emailKey(email))
      if (user === undefined) throw new Refusal('user_not_found')
      return user
    },
    search: (search) => searchUsers(lists, search),
    makeAdmin: (administrator, userId) =>
      change(administrator, userId, async (tx) => {
        if (await setRole(tx, userId, 'admin')) tx.record({ kind: 'user.promoted', target: userId })
      }),
    unban: (administrator, userId) =>
      change(administrator, userId, async (tx) => {
        if (await unbanUser(tx, userId)) tx.record({ kind: 'user.unbanned', target: userId })
      }),
    verify: (administrator, userId) =>
      change(administrator, userId, async (tx) => {
        if (await setVerified(tx, userId)) tx.record({ kind: 'user.verified', target: userId })
      }),
    async sendPasswordReset(administrator, userId) {
      await change(administrator, userId, async (tx, { email }) => {
        await enqueueMail(tx, 'reset', emailKey(email), now())
        tx.record({ kind: 'mail.requested', target: userId })
      })
      onMailQueued()
    },
    async ban(administrator, userId) {
      const { caller } = administrator
      if (caller !== 'operator' && caller.user.id === userId) throw new Refusal('ban_self')
      await changeAdmins(administrator, userId, async (tx, target) => {
        if (target.banned) return
        // An admin who bans another admin stays active. Only an operator could ban the last active admin.
        if (target.role === 'admin' && !(await hasOtherActiveAdmin(tx, userId))) throw new Refusal('last_admin')
        if (await banUser(tx, userId)) tx.record({ kind: 'user.banned', target: userId })
      })
    },
    async revokeAdmin(administrator, userId) {
      await changeAdmins(administrator, userId, async (tx, target) => {
        if (target.role !== 'admin') return
        if (!(await hasOtherAdmin(tx, userId))) throw new Refusal('last_admin')
        if (await setRole(tx, userId, 'user')) tx.record({ kind: 'user.demoted', target: userId })
      })
    },
    remove: (administrator, userId, onProgress) => removeAccount(changes, administrator, { userId, allowed: 'admin', onProgress }),
  }
}

export type Removal = Pick<AccountChange, 'userId' | 'allowed'> & {
  /** Refuses before anything is deleted. */
  readonly check?: ((target: User & UserSecrets) => void) | undefined
  /** Called with the number of deleted rows after each batch but the last. */
  readonly onProgress?: ((deletedRows: number) => void) | undefined
}

// On SQLite, which deletes on this thread, a batch of this size takes a few milliseconds.
const BATCH_SIZE = 100

/**
 * Deletes an account with its sessions and API keys, unless it is the last admin. An account of an older version may own any number of
 * rows: deleting them in one statement would delay every other write.
 */
export async function removeAccount(changes: Changes, by: Actor | Operator, removal: Removal): Promise<void> {
  const { userId, allowed, check, onProgress } = removal
  // An owner who leaves is not there to unban the other admins.
  const hasSuccessor = allowed === 'owner' ? hasOtherActiveAdmin : hasOtherAdmin
  const { sessionId: exceptSessionId, key } = by.caller === 'operator' ? {} : by.caller

  /** Returns the number of deleted rows. The account itself goes with the last batch. */
  function removeSome(remover: Actor | Operator, requireRemovable?: Removal['check']): Promise<number> {
    return changes.toAccount(remover, { userId, allowed, lock: 'admins' }, async (tx, target) => {
      requireRemovable?.(target)
      if (target.role === 'admin' && !(await hasSuccessor(tx, userId))) throw new Refusal('last_admin')
      // Callers who delete their own account need their credential until the end.
      const keys = await deleteApiKeysOfUser(tx, userId, BATCH_SIZE, key?.id)
      const sessions = await deleteOldestSessions(tx, userId, { kept: 0, limit: BATCH_SIZE, exceptSessionId })
      if (keys + sessions >= BATCH_SIZE) {
        recordBatch(tx, userId, keys, sessions)
      } else {
        await deleteUser(tx, userId)
        tx.record({ kind: 'user.deleted', target: userId })
      }
      return keys + sessions
    })
  }

  // Once begun, the deletion is completed even if the client disconnects.
  const persistent = { ...by, origin: { ...by.origin, signal: undefined } }
  let deleted = await removeSome(by, check)
  for (let rows = deleted; rows >= BATCH_SIZE; ) {
    onProgress?.(deleted)
    rows = await removeSome(persistent)
    deleted += rows
  }
}

/** The deletion may end after a batch, by a crash or because the caller loses their access: then its rows are gone and the account is not. */
function recordBatch(tx: ChangeTransaction, userId: number, keys: number, sessions: number): void {
  if (keys > 0) tx.record({ kind: 'key.revoked', target: userId, count: keys })
  if (sessions > 0) tx.record({ kind: 'session.revoked', target: userId, count: sessions })
}
