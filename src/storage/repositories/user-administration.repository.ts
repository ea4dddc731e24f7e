import type { Role, User } from '../../model/user.ts'
import { type Reads, statement, type Transaction } from '../database.ts'
import { toUser, USER_COLUMNS, type UserRow } from './user.repository.ts'

const LIST_AFTER = statement<UserRow>(`select ${USER_COLUMNS} from users where id > $1 order by id limit $2`)
const SET_ROLE = statement('update users set role = $2 where id = $1 and role <> $2')
// A ban ends the reset tokens of the account; one that is banned already has none.
const BAN = statement('update users set banned = true, reset_version = reset_version + 1 where id = $1 and banned = false')
const UNBAN = statement('update users set banned = false where id = $1 and banned = true')
const VERIFY = statement('update users set verified = true where id = $1 and verified = false')
const DELETE = statement('delete from users where id = $1')
const COUNT_OTHER_ADMINS = statement<{ count: number }>(`select count(*) as count from users where role = 'admin' and id <> $1`)
const COUNT_OTHER_ABLE_ADMINS = statement<{ count: number }>(`
  select count(*) as count from users where role = 'admin' and id <> $1 and banned = false and verified = true`)

/** One page of all users in order of id: those after the given one. */
export async function listUsersAfter(db: Reads, id: number, limit: number): Promise<User[]> {
  return (await db.all(LIST_AFTER, id, limit)).map(toUser)
}

/** False when the user has the role already. Taking the role away needs the lock on the admins. */
export async function setRole(tx: Transaction, id: number, role: Role): Promise<boolean> {
  return (await tx.run(SET_ROLE, id, role)) === 1
}

/** False when the user is banned already. */
export async function banUser(tx: Transaction, id: number): Promise<boolean> {
  return (await tx.run(BAN, id)) === 1
}

/** False when the user is not banned. */
export async function unbanUser(tx: Transaction, id: number): Promise<boolean> {
  return (await tx.run(UNBAN, id)) === 1
}

/** False when the user is verified already. */
export async function setVerified(tx: Transaction, id: number): Promise<boolean> {
  return (await tx.run(VERIFY, id)) === 1
}

/** The user's sessions and API keys go with them. */
export async function deleteUser(tx: Transaction, id: number): Promise<void> {
  await tx.run(DELETE, id)
}

/** Whether another user has the role of an admin, banned or not. */
export async function hasOtherAdmin(tx: Transaction, id: number): Promise<boolean> {
  return ((await tx.first(COUNT_OTHER_ADMINS, id))?.count ?? 0) > 0
}

/** Whether another admin can act as one: neither banned nor unverified. */
export async function hasOtherAbleAdmin(tx: Transaction, id: number): Promise<boolean> {
  return ((await tx.first(COUNT_OTHER_ABLE_ADMINS, id))?.count ?? 0) > 0
}
