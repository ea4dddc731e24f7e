import { PASSKEY, PASSKEY_ROW, type Passkey, type PasskeyRow } from '../../../model/factor.ts'
import type { Transaction } from '../../database.ts'
import { changes, finds, findsIn, inserts, listsIn, runs } from '../../repository-functions.ts'

/** Throws UniqueViolation if the authenticator is known already. */
export const insertPasskey = inserts(PASSKEY_ROW)

/** In the order of their creation. */
export const listPasskeys = listsIn<PasskeyRow, [userId: number]>(PASSKEY_ROW, 'where user_id = $1 order by created_at, id')

export const findPasskey = findsIn<PasskeyRow, [credentialId: string]>(PASSKEY_ROW, 'where credential_id = $1')

/**
 * Records a use. False if the counter has not grown: another copy of the passkey has signed, or the same answer was sent twice. An
 * authenticator that does not count has zero for ever.
 */
export const usePasskey = changes<Transaction, [id: string, counter: number, backedUp: boolean, now: number]>(
  `update passkeys set counter = $2, backed_up = $3, last_used_at = $4 where id = $1 and (counter < $2 or (counter = 0 and $2 = 0))`,
)

export const renamePasskey = finds<Passkey, [userId: number, id: string, name: string], Transaction>(
  `update passkeys set name = $3 where user_id = $1 and id = $2 returning ${PASSKEY.columns}`,
  PASSKEY.fromRow,
)

export const deletePasskey = changes<Transaction, [userId: number, id: string]>('delete from passkeys where user_id = $1 and id = $2')

export const deletePasskeys = runs<Transaction, [userId: number]>('delete from passkeys where user_id = $1')

/** Copied to the account, where every request reads it. */
export const countPasskeys = runs<Transaction, [userId: number]>(
  'update users set passkeys = (select count(*) from passkeys where user_id = $1) where id = $1',
)
