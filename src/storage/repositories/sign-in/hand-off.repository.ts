import { HAND_OFF, type HandOff } from '../../../model/factor.ts'
import type { Transaction } from '../../database.ts'
import { findsIn, inserts, runs } from '../../repository-functions.ts'

export const insertHandOff = inserts(HAND_OFF)

/** Also one that was used, while its session lasts. */
export const findHandOff = findsIn<HandOff, [id: string, now: number]>(HAND_OFF, 'where id = $1 and expires_at > $2')

/** From now on it belongs to the session that it has opened. */
export const markHandOffUsed = runs<Transaction, [id: string, sessionId: string, expiresAt: number]>(
  'update hand_offs set is_used = true, session_id = $2, expires_at = $3 where id = $1',
)

export const deleteHandOff = runs<Transaction, [id: string]>('delete from hand_offs where id = $1')
