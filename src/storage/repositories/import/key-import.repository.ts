import { KEY_ROW, type KeyRow, RETIRING_SECRET, type RetiringSecret } from '../../../model/api-key.ts'
import { type Reads, statement, type Transaction } from '../../database.ts'
import { insertRows } from '../../many-rows.ts'

const KEYS = insertRows('api_keys', { keepsIds: false, suffix: 'on conflict do nothing' })
const INSERT = statement(KEYS.postgres, KEYS.sqlite)
const RETIRING = insertRows('retiring_secrets', { keepsIds: true, suffix: 'on conflict do nothing' })
const INSERT_RETIRING = statement(RETIRING.postgres, RETIRING.sqlite)
const owners = (isGiven: string) => `
  select api_keys.id, api_keys.key_hash, users.email_key from api_keys join users on users.id = api_keys.user_id
  where api_keys.id ${isGiven} or api_keys.key_hash ${isGiven}`
// With arrays, PostgreSQL uses both indexes. With `in` it would read all keys and all users for each batch of an import.
const FIND_OWNERS = statement<{ id: string; key_hash: string; email_key: string }>(
  owners('= any (array(select json_array_elements_text($1::text::json)))'),
  owners('in (select value from json_each($1))'),
)

/** Inserts keys with one statement. A key that exists is left as it is. */
export async function insertKeys(tx: Transaction, keys: readonly KeyRow[], retiring: readonly RetiringSecret[]): Promise<void> {
  const rows = keys.map(KEY_ROW.toRow)
  await tx.run(INSERT, JSON.stringify(rows))
  if (retiring.length === 0) return
  const former = retiring.map(RETIRING_SECRET.toRow)
  await tx.run(INSERT_RETIRING, JSON.stringify(former))
}

/** The address of the owner, by the ids and the hashes of keys that exist. */
export async function findKeyOwners(db: Reads, idsAndHashes: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.all(FIND_OWNERS, JSON.stringify(idsAndHashes))
  return new Map(rows.flatMap(({ id, key_hash, email_key }) => [[id, email_key] as const, [key_hash, email_key] as const]))
}
