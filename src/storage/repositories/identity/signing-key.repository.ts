import type { SigningKey } from '../../../model/signing-key.ts'
import { type Reads, statement, type Transaction } from '../../database.ts'

type Row = {
  readonly id: string
  readonly public_jwk: string
  readonly private_key: string
  readonly created_at: number
  readonly signs_from: number
  readonly published_until: number | null
}

const LIST = statement<Row>(`
  select id, public_jwk, private_key, created_at, signs_from, published_until from signing_keys order by signs_from, id`)
const INSERT = statement(`
  insert into signing_keys (id, public_jwk, private_key, created_at, signs_from) values ($1, $2, $3, $4, $5)`)
const RETIRE_OTHERS = statement('update signing_keys set published_until = $2 where id <> $1 and published_until is null')
const RESEAL = statement('update signing_keys set private_key = $3 where id = $1 and private_key = $2')
const DELETE_EXPIRED = statement('delete from signing_keys where published_until <= $1')

/** All keys, in the order in which they sign. */
export async function listSigningKeys(db: Reads): Promise<SigningKey[]> {
  return (await db.all(LIST)).map((row) => ({
    id: row.id,
    publicJwk: row.public_jwk,
    sealedPrivateKey: row.private_key,
    createdAt: row.created_at,
    signsFrom: row.signs_from,
    publishedUntil: row.published_until ?? undefined,
  }))
}

export async function insertSigningKey(tx: Transaction, key: SigningKey): Promise<void> {
  await tx.run(INSERT, key.id, key.publicJwk, key.sealedPrivateKey, key.createdAt, key.signsFrom)
}

/** Ends the publication of every other key that has no end yet. */
export async function retireOtherSigningKeys(tx: Transaction, id: string, publishedUntil: number): Promise<void> {
  await tx.run(RETIRE_OTHERS, id, publishedUntil)
}

/** Replaces the encrypted private part, unless another process has replaced it. */
export async function resealSigningKey(tx: Transaction, { id, sealedPrivateKey }: SigningKey, resealed: string): Promise<void> {
  await tx.run(RESEAL, id, sealedPrivateKey, resealed)
}

export async function deleteExpiredSigningKeys(tx: Transaction, now: number): Promise<void> {
  await tx.run(DELETE_EXPIRED, now)
}
