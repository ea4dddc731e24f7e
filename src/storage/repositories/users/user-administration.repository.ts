import { type Role, USER, type User } from '../../../model/user.ts'
import { type Reads, type StoredRow, statement, type Transaction } from '../../database.ts'

const LIST_AFTER = statement<StoredRow>(`select ${USER.columns} from users where id > $1 order by id limit $2`)
const SET_ROLE = statement('update users set role = $2 where id = $1 and role <> $2')
// A ban invalidates the reset tokens of the account. An account that is banned already has none.
const BAN = statement('update users set banned = true, reset_version = reset_version + 1 where id = $1 and banned = false')
const UNBAN = statement('update users set banned = false where id = $1 and banned = true')
const VERIFY = statement('update users set verified = true where id = $1 and verified = false')
const DELETE = statement('delete from users where id = $1')
const COUNT_OTHER_ADMINS = statement<{ count: number }>(`select count(*) as count from users where role = 'admin' and id <> $1`)
const COUNT_OTHER_ACTIVE_ADMINS = statement<{ count: number }>(`
  select count(*) as count from users where role = 'admin' and id <> $1 and banned = false and verified = true`)

/** One page of all users in order of id, starting after the given id. */
export async function listUsersAfter(db: Reads, id: number, limit: number): Promise<User[]> {
  return (await db.all(LIST_AFTER, id, limit)).map(USER.fromRow)
}

/** Returns false if the user has the role already. Revoking the admin role requires the lock on the admins. */
export async function setRole(tx: Transaction, id: number, role: Role): Promise<boolean> {
  return (await tx.run(SET_ROLE, id, role)) === 1
}

/** Returns false if the user is banned already. */
export async function banUser(tx: Transaction, id: number): Promise<boolean> {
  return (await tx.run(BAN, id)) === 1
}

/** Returns false if the user is not banned. */
export async function unbanUser(tx: Transaction, id: number): Promise<boolean> {
  return (await tx.run(UNBAN, id)) === 1
}

/** Returns false if the user is verified already. */
export async function setVerified(tx: Transaction, id: number): Promise<boolean> {
  return (await tx.run(VERIFY, id)) === 1
}

/** Deletes a user, with their sessions and API keys. */
export async function deleteUser(tx: Transaction, id: number): Promise<void> {
  await tx.run(DELETE, id)
}

/** Whether another user has the admin role, banned or not. */
export async function hasOtherAdmin(tx: Transaction, id: number): Promise<boolean> {
  return ((await tx.first(COUNT_OTHER_ADMINS, id))?.count ?? 0) > 0
}

/** Whether another admin can log in: verified and not banned. */
export async function hasOtherActiveAdmin(tx: Transaction, id: number): Promise<boolean> {
  return ((await tx.first(COUNT_OTHER_ACTIVE_ADMINS, id))?.count ?? 0) > 0
}
