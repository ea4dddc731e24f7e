import { EMAIL_CHANGE, type EmailChange } from '../../../model/user.ts'
import { statement, type Transaction } from '../../database.ts'
import { findsIn, runs } from '../../repository-functions.ts'

const MARK_CONFIRMED = statement('update email_changes set confirmed_at = $2 where user_id = $1')
// A confirmed address is a verified one. The new versions end the tokens that were mailed to the former address.
const CHANGE_EMAIL = statement(`
  update users set email = $2, email_key = $3, verified = true, email_version = email_version + 1, reset_version = reset_version + 1
  where id = $1`)

/** Replaces an earlier request of the account. */
export const saveEmailChange = runs<Transaction, [userId: number, email: string, version: number, now: number]>(`
  insert into email_changes (user_id, email, version, reset_version, requested_at)
  select id, $2, $3, reset_version, $4 from users where id = $1
  on conflict (user_id) do update
  set email = excluded.email, version = excluded.version, reset_version = excluded.reset_version,
    requested_at = excluded.requested_at, confirmed_at = null`)

export const findEmailChange = findsIn<EmailChange, [userId: number]>(EMAIL_CHANGE, 'where user_id = $1')

/** Requires the lock on the account. Throws UniqueViolation if the address is taken. */
export async function confirmEmailChange(tx: Transaction, userId: number, email: string, emailKey: string, now: number): Promise<void> {
  await tx.run(CHANGE_EMAIL, userId, email, emailKey)
  await tx.run(MARK_CONFIRMED, userId, now)
}
