import { type Reads, statement, type Transaction } from '../../database.ts'
import { exists, finds, runs } from '../../repository-functions.ts'

const ADD_USE = statement(
  'insert into secret_uses (fingerprint, first_used_at, last_used_at) values ($1, $2, $2) on conflict (fingerprint) do nothing',
)
const EXTEND_USE = statement('update secret_uses set last_used_at = $2 where fingerprint = $1 and last_used_at < $2')
const HOLD = statement(`
  insert into secret_holders (process_id, fingerprint, signs, seen_at) values ($1, $2, $3, $4)
  on conflict (process_id, fingerprint) do update set seen_at = excluded.seen_at`)

/** Records that a secret signs at this moment. Returns true if it never did before. */
export async function recordSecretUse(tx: Transaction, fingerprint: string, now: number): Promise<boolean> {
  const isNew = (await tx.run(ADD_USE, fingerprint, now)) === 1
  if (!isNew) await tx.run(EXTEND_USE, fingerprint, now)
  return isNew
}

/** Whether any other secret has ever signed in this database. */
export const hasOtherSecret = exists<Reads, [fingerprint: string]>('select fingerprint from secret_uses where fingerprint <> $1 limit 1')

export const findLastSecretUse = finds<number, [fingerprint: string]>(
  'select last_used_at from secret_uses where fingerprint = $1',
  (row) => Number(row['last_used_at']),
)

/** Records which secrets a running process has: the first one signs. */
export async function holdSecrets(tx: Transaction, processId: string, fingerprints: readonly string[], now: number): Promise<void> {
  for (const [index, fingerprint] of fingerprints.entries()) await tx.run(HOLD, processId, fingerprint, index === 0, now)
}

export const releaseSecrets = runs<Transaction, [processId: string]>('delete from secret_holders where process_id = $1')

/** Removes the rows of processes that were killed. */
export const forgetHoldersBefore = runs<Transaction, [seenAt: number]>('delete from secret_holders where seen_at < $1')
