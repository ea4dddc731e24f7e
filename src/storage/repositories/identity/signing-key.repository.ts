import { SIGNING_KEY, type SigningKey } from '../../../model/signing-key.ts'
import { statement, type Transaction } from '../../database.ts'
import { inserts, listsIn, runs } from '../../repository-functions.ts'

const RESEAL = statement('update signing_keys set private_key = $3 where id = $1 and private_key = $2')

/** All keys, in the order in which they sign. */
export const listSigningKeys = listsIn<SigningKey, []>(SIGNING_KEY, 'order by signs_from, id')

export const insertSigningKey = inserts(SIGNING_KEY)

/** Ends the publication of every other key that has no end yet. */
export const retireOtherSigningKeys = runs<Transaction, [id: string, publishedUntil: number]>(
  'update signing_keys set published_until = $2 where id <> $1 and published_until is null',
)

/** Replaces the encrypted private part, unless another process has replaced it. */
export async function resealSigningKey(tx: Transaction, { id, sealedPrivateKey }: SigningKey, resealed: string): Promise<void> {
  await tx.run(RESEAL, id, sealedPrivateKey, resealed)
}

export const deleteExpiredSigningKeys = runs<Transaction, [now: number]>('delete from signing_keys where published_until <= $1')
