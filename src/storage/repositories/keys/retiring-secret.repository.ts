import { RETIRING_SECRET, type RetiringSecret } from '../../../model/api-key.ts'
import { insertInto, type Queries, statement, type Transaction } from '../../database.ts'
import { deleteListed } from '../../many-rows.ts'

const INSERT = statement(insertInto('retiring_secrets', RETIRING_SECRET))
const DELETE_OF_KEY = statement('delete from retiring_secrets where key_id = $1')
const DELETE_OLDEST = statement(`
  delete from retiring_secrets where key_hash in (
    select key_hash from retiring_secrets where key_id = $1 order by retired_at desc, key_hash limit 1000 offset $2)`)
const DELETE_ENDED = deleteListed(
  'retiring_secrets',
  'key_hash',
  'select key_hash from retiring_secrets where expires_at <= $1 order by expires_at limit $2',
)

export async function insertRetiringSecret(tx: Transaction, secret: RetiringSecret): Promise<void> {
  await tx.run(INSERT, ...RETIRING_SECRET.toValues(secret))
}

/** Ends all former secrets of a key. */
export async function deleteRetiringSecrets(tx: Transaction, keyId: string): Promise<void> {
  await tx.run(DELETE_OF_KEY, keyId)
}

/** Ends the former secrets of a key that were replaced first, beyond the `kept` latest. */
export async function deleteOldestRetiringSecrets(tx: Transaction, keyId: string, kept: number): Promise<void> {
  await tx.run(DELETE_OLDEST, keyId, kept)
}

/** Deletes at most `limit` secrets that no longer work. Returns how many it deleted. */
export async function deleteEndedSecrets(db: Queries, now: number, limit: number): Promise<number> {
  return db.run(DELETE_ENDED, now, limit)
}
