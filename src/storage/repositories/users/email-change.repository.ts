import { type Queries, type Reads, statement, type Transaction } from '../../database.ts'
import { deleteListed } from '../../tables.ts'

/** A new address that an account has asked for. */
export type EmailChange = {
  readonly email: string
  /** Named by the token in the mail. A newer request has another one. */
  readonly version: number
  /** The reset version that the account had. The request ends when the account has another one. */
  readonly resetVersion: number
  readonly confirmedAt: number | undefined
}

type EmailChangeRow = {
  readonly email: string
  readonly version: number
  readonly reset_version: number
  readonly confirmed_at: number | null
}

const SAVE = statement(`
  insert into email_changes (user_id, email, version, reset_version, requested_at)
  select id, $2, $3, reset_version, $4 from users where id = $1
  on conflict (user_id) do update
  set email = excluded.email, version = excluded.version, reset_version = excluded.reset_version,
    requested_at = excluded.requested_at, confirmed_at = null`)
const FIND = statement<EmailChangeRow>('select email, version, reset_version, confirmed_at from email_changes where user_id = $1')
const MARK_CONFIRMED = statement('update email_changes set confirmed_at = $2 where user_id = $1')
// A confirmed address is a verified one. The new versions end the tokens that were mailed to the former address.
const CHANGE_EMAIL = statement(`
  update users set email = $2, email_key = $3, verified = true, email_version = email_version + 1, reset_version = reset_version + 1
  where id = $1`)
const DELETE_OLD = deleteListed(
  'email_changes',
  'user_id',
  'select user_id from email_changes where requested_at <= $1 order by requested_at limit $2',
)

/** Replaces an earlier request of the account. */
export async function saveEmailChange(tx: Transaction, userId: number, email: string, version: number, now: number): Promise<void> {
  await tx.run(SAVE, userId, email, version, now)
}

export async function findEmailChange(db: Reads, userId: number): Promise<EmailChange | undefined> {
  const row = await db.first(FIND, userId)
  return row && { email: row.email, version: row.version, resetVersion: row.reset_version, confirmedAt: row.confirmed_at ?? undefined }
}

/** Requires the lock on the account. Throws UniqueViolation if the address is taken. */
export async function confirmEmailChange(tx: Transaction, userId: number, email: string, emailKey: string, now: number): Promise<void> {
  await tx.run(CHANGE_EMAIL, userId, email, emailKey)
  await tx.run(MARK_CONFIRMED, userId, now)
}

/** Deletes at most `limit` requests that were made before the given time. Returns how many it deleted. */
export async function deleteOldEmailChanges(db: Queries, before: number, limit: number): Promise<number> {
  return db.run(DELETE_OLD, before, limit)
}
