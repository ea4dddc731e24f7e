import { HAND_OFF, type HandOff } from '../../../model/factor.ts'
import { insertInto, type Queries, statement, type Transaction } from '../../database.ts'
import { countsChanges, finds, runs } from '../../repository-functions.ts'
import { deleteListed } from '../../tables.ts'

const INSERT = statement(insertInto('hand_offs', HAND_OFF))

export async function insertHandOff(tx: Transaction, handOff: HandOff): Promise<void> {
  await tx.run(INSERT, ...HAND_OFF.toValues(handOff))
}

/** Also one that was used, while its session lasts. */
export const findHandOff = finds<HandOff, [id: string, now: number]>(
  `select ${HAND_OFF.columns} from hand_offs where id = $1 and expires_at > $2`,
  HAND_OFF.fromRow,
)

/** From now on it belongs to the session that it has opened. */
export const markHandOffUsed = runs<Transaction, [id: string, sessionId: string, expiresAt: number]>(
  'update hand_offs set is_used = true, session_id = $2, expires_at = $3 where id = $1',
)

export const deleteHandOff = runs<Transaction, [id: string]>('delete from hand_offs where id = $1')

/** Deletes at most `limit` expired rows. Returns how many it deleted. */
export const deleteExpiredHandOffs = countsChanges<Queries, [now: number, limit: number]>(
  deleteListed('hand_offs', 'id', 'select id from hand_offs where expires_at <= $1 order by expires_at limit $2'),
)
