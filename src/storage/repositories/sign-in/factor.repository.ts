import { LOGIN_CHALLENGE, type LoginChallenge, TOTP_SECRET, type TotpSecret } from '../../../model/factor.ts'
import { insertInto, type Queries, type Reads, statement, type Transaction } from '../../database.ts'
import { changes, counts, findsIn, inserts, listsIn, runs } from '../../repository-functions.ts'

const SAVE_SECRET = statement(`${insertInto(TOTP_SECRET)}
  on conflict (user_id) do update set secret = excluded.secret, sealed_with = excluded.sealed_with, created_at = excluded.created_at,
    confirmed_at = excluded.confirmed_at, last_step = excluded.last_step, salt = excluded.salt`)
const INSERT_CODE = statement('insert into recovery_codes (user_id, code_hash) values ($1, $2)')
/** They end a challenge. */
export const MAX_WRONG_CODES = 5

/** Replaces the secret that an account has. */
export async function saveTotpSecret(tx: Transaction, secret: TotpSecret): Promise<void> {
  await tx.run(SAVE_SECRET, ...TOTP_SECRET.toValues(secret))
}

export const findTotpSecret = findsIn<TotpSecret, [userId: number]>(TOTP_SECRET, 'where user_id = $1')

/** Turns codes on. */
export const confirmTotpSecret = runs<Transaction, [userId: number, now: number, step: number]>(
  'update totp_secrets set confirmed_at = $2, last_step = $3 where user_id = $1',
)

/** Returns true for exactly one of any number of parallel uses of a code: no step is used twice, and none after a later one. */
export const useTotpStep = changes<Transaction, [userId: number, step: number]>(
  'update totp_secrets set last_step = $2 where user_id = $1 and last_step < $2 and confirmed_at is not null',
)

export const deleteTotpSecret = runs<Transaction, [userId: number]>('delete from totp_secrets where user_id = $1')

/** Copied to the account, where every request reads it. */
export const turnTotpOn = runs<Transaction, [userId: number]>('update users set totp = true where id = $1')
export const turnTotpOff = runs<Transaction, [userId: number]>('update users set totp = false where id = $1')

/** One page of the secrets that one SECRET_KEY encrypts, in order of the user. */
export const listSealedWith = listsIn<TotpSecret, [sealedWith: string, afterUserId: number, limit: number]>(
  TOTP_SECRET,
  'where sealed_with = $1 and user_id > $2 order by user_id limit $3',
)

/** Unless it was replaced meanwhile. */
export const resealTotpSecret = runs<Queries, [userId: number, former: string, secret: string, sealedWith: string]>(
  'update totp_secrets set secret = $3, sealed_with = $4 where user_id = $1 and secret = $2',
)

export async function replaceRecoveryCodes(tx: Transaction, userId: number, salt: string, hashes: readonly string[]): Promise<void> {
  await deleteRecoveryCodes(tx, userId)
  await setSalt(tx, userId, salt)
  for (const hash of hashes) await tx.run(INSERT_CODE, userId, hash)
}

const setSalt = runs<Transaction, [userId: number, salt: string]>('update totp_secrets set salt = $2 where user_id = $1')

export const deleteRecoveryCodes = runs<Transaction, [userId: number]>('delete from recovery_codes where user_id = $1')

/** Returns true for exactly one of any number of parallel uses. */
export const useRecoveryCode = changes<Transaction, [userId: number, codeHash: string]>(
  'delete from recovery_codes where user_id = $1 and code_hash = $2',
)

export const countRecoveryCodes = counts<Reads, [userId: number]>('select count(*) as count from recovery_codes where user_id = $1')

export const insertLoginChallenge = inserts(LOGIN_CHALLENGE)

export const findLoginChallenge = findsIn<LoginChallenge, [id: string, now: number]>(
  LOGIN_CHALLENGE,
  `where id = $1 and expires_at > $2 and wrong_codes < ${MAX_WRONG_CODES}`,
)

/**
 * Counts an attempt with a code. False once the challenge has ended. Attempts at one challenge wait for each other, until the transaction
 * ends.
 */
export const countCode = changes<Transaction, [id: string, now: number, max: number]>(
  'update login_challenges set wrong_codes = wrong_codes + 1 where id = $1 and expires_at > $2 and wrong_codes < $3',
)

/** Returns true for exactly one of any number of parallel uses. The attempt that it ends for may have been counted. */
export const endLoginChallenge = changes<Transaction, [id: string, maxCounted: number]>(
  'delete from login_challenges where id = $1 and wrong_codes <= $2',
)

export const endLoginChallenges = runs<Transaction, [userId: number]>('delete from login_challenges where user_id = $1')

/** Returns true for exactly one of any number of parallel uses of a signed challenge. */
export const markUsed = changes<Transaction, [id: string, expiresAt: number]>(
  'insert into used_challenges (id, expires_at) values ($1, $2) on conflict (id) do nothing',
)
