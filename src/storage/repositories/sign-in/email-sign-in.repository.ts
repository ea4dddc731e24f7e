import { type Queries, statement, type Transaction } from '../../database.ts'
import { changes, runs } from '../../repository-functions.ts'

const MAX_WRONG_CODES = 5

// The row of an address that no mail was sent to is as large, and expires as late.
const COUNT_CODE = statement<{ readonly version: number }>(`
  insert into email_sign_ins (recipient, version, reset_version, tries_left, expires_at) values ($1, 0, 0, 0, $2)
  on conflict (recipient) do update set tries_left = email_sign_ins.tries_left - 1
  returning version`)

/**
 * Opens the link and the code of a mail that is about to be sent, in place of those of earlier mails. Another attempt to send the same mail
 * does not open them again once they were used.
 */
export const openSignIn = runs<Queries, [recipient: string, version: number, resetVersion: number, expiresAt: number]>(`
  insert into email_sign_ins (recipient, version, reset_version, tries_left, expires_at) values ($1, $2, $3, ${MAX_WRONG_CODES}, $4)
  on conflict (recipient) do update
  set version = excluded.version, reset_version = excluded.reset_version, expires_at = excluded.expires_at,
    tries_left = case when email_sign_ins.version = excluded.version then email_sign_ins.tries_left else excluded.tries_left end`)

/**
 * Counts an attempt with a code, and returns the version of the mail that it would have to be from; 0 if there is none. Writes one row for
 * every address. Attempts for one address wait for each other, until the transaction ends.
 */
export async function countSignInCode(tx: Transaction, recipient: string, expiresAt: number): Promise<number> {
  return (await tx.first(COUNT_CODE, recipient, expiresAt))?.version ?? 0
}

/**
 * Uses the link or the code of a mail. Returns true for exactly one of any number of parallel uses. `triesLeft`: how many must be left, which
 * is one less for a code, because the attempt was counted.
 */
export const useSignIn = changes<Transaction, [recipient: string, version: number, resetVersion: number, triesLeft: 0 | 1, now: number]>(`
  update email_sign_ins set tries_left = 0
  where recipient = $1 and version = $2 and reset_version = $3 and tries_left >= $4 and expires_at > $5`)
