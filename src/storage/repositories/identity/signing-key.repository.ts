import { SIGNING_KEY, type SigningKey } from '../../../model/signing-key.ts'
import { insertInto, statement, type Transaction } from '../../database.ts'
import { lists, runs } from '../../repository-functions.ts'

const INSERT = statement(insertInto('signing_keys', SIGNING_KEY))
const RESEAL = statement('update signing_keys set private_key = $3 where id = $1 and private_key = $2')

/** All keys, in the order in which they sign. */
export const listSigningKeys = lists<SigningKey, []>(
  `select ${SIGNING_KEY.columns} from signing_keys order by signs_from, id`,
  SIGNING_KEY.fromRow,
)

export async function insertSigningKey(tx: Transaction, key: SigningKey): Promise<void> {
  await tx.run(INSERT, ...SIGNING_KEY.toValues(key))
}

/** Ends the publication of every other key that has no end yet. */
export const retireOtherSigningKeys = runs<Transaction, [id: string, publishedUntil: number]>(
  'update signing_keys set published_until = $2 where id <> $1 and published_until is null',
)

/** Replaces the encrypted private part, unless another process has replaced it. */
export async function resealSigningKey(tx: Transaction, { id, sealedPrivateKey }: SigningKey, resealed: string): Promise<void> {
  await tx.run(RESEAL, id, sealedPrivateKey, resealed)
}

export const deleteExpiredSigningKeys = runs<Transaction, [now: number]>('delete from signing_keys where published_until <= $1')
