import type { Caller, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { FoundUsers, User, UserSearch } from '../../model/user.ts'
import type { Database, Queries, Transaction } from '../../storage/database.ts'
import { findUserByEmail, findUserById } from '../../storage/repositories/user.repository.ts'
import {
  banUser,
  deleteUser,
  hasOtherAbleAdmin,
  hasOtherAdmin,
  listUsersAfter,
  setRole,
  setVerified,
  unbanUser,
} from '../../storage/repositories/user-administration.repository.ts'
import { searchUsers } from '../../storage/repositories/user-search.repository.ts'
import { requireStillAdmin } from '../sessions/still-caller.ts'
import { emailKey } from '../values/email.ts'

/** An admin who is logged in, or an operator at the command line. */
export type Administrator = Caller | Operator

export type UserAdministration = {
  /** Every user in order of id, a page at a time: memory does not grow with their number. */
  list(): AsyncIterable<readonly User[]>
  find(userId: number): Promise<User>
  findByEmail(email: string): Promise<User>
  /** One page of those who match, in order of id, and how many there are. */
  search(search: UserSearch): Promise<FoundUsers>
  makeAdmin(userId: number): Promise<void>
  revokeAdmin(administrator: Administrator, userId: number): Promise<void>
  ban(administrator: Administrator, userId: number): Promise<void>
  unban(userId: number): Promise<void>
  verify(userId: number): Promise<void>
  remove(administrator: Administrator, userId: number): Promise<void>
}

const LIST_PAGE_SIZE = 250

type Parts = { readonly db: Database; readonly now: () => number }

export function createUserAdministration({ db, now }: Parts): UserAdministration {
  /**
   * A change that may take an admin away. Such changes run one at a time, in all processes, and the administrator is looked at
   * again inside: of two admins who ban or delete each other at the same moment, the second is none any more.
   */
  function holdingAdmins(
    administrator: Administrator,
    userId: number,
    change: (tx: Transaction, target: User) => Promise<void>,
  ): Promise<void> {
    return db.transaction(async (tx) => {
      await tx.lock('admins')
      if (administrator !== 'operator') await requireStillAdmin(tx, administrator, now())
      await change(tx, await find(tx, userId))
    })
  }

  async function* list(): AsyncIterable<readonly User[]> {
    let lastId = 0
    for (;;) {
      const page = await listUsersAfter(db, lastId, LIST_PAGE_SIZE)
      if (page.length > 0) yield page
      if (page.length < LIST_PAGE_SIZE) return
      lastId = page.at(-1)?.id ?? lastId
    }
  }

  return {
    list,
    find: (userId) => find(db, userId),
    async findByEmail(email) {
      const user = await findUserByEmail(db, emailKey(email))
      if (user === undefined) throw new Refusal('user_not_found')
      return user
    },
    search: (search) => searchUsers(db, search),
    makeAdmin: async (userId) => requireFound(await setRole(db, userId, 'admin')),
    unban: async (userId) => requireFound(await unbanUser(db, userId)),
    verify: async (userId) => requireFound(await setVerified(db, userId)),
    async ban(administrator, userId) {
      if (administrator !== 'operator' && administrator.user.id === userId) throw new Refusal('ban_self')
      await holdingAdmins(administrator, userId, async (tx, target) => {
        if (target.banned) return
        // An admin who bans another is an able one and stays; an operator could ban the last.
        if (target.role === 'admin' && !(await hasOtherAbleAdmin(tx, userId))) throw new Refusal('last_admin')
        await banUser(tx, userId)
      })
    },
    async revokeAdmin(administrator, userId) {
      await holdingAdmins(administrator, userId, async (tx, target) => {
        if (target.role !== 'admin') return
        if (!(await hasOtherAdmin(tx, userId))) throw new Refusal('last_admin')
        await setRole(tx, userId, 'user')
      })
    },
    async remove(administrator, userId) {
      await holdingAdmins(administrator, userId, async (tx, target) => {
        if (target.role === 'admin' && !(await hasOtherAdmin(tx, userId))) throw new Refusal('last_admin')
        await deleteUser(tx, userId)
      })
    },
  }
}

async function find(db: Queries, userId: number): Promise<User> {
  const user = await findUserById(db, userId)
  if (user === undefined) throw new Refusal('user_not_found')
  return user
}

function requireFound(isFound: boolean): void {
  if (!isFound) throw new Refusal('user_not_found')
}
