import { MAX_LISTED_KINDS } from '../../security/foreign/foreign-hash.ts'
import type { Passwords } from '../../security/password.ts'
import type { Reads } from '../../storage/database.ts'
import { listForeignKinds } from '../../storage/repositories/import/import.repository.ts'

/** Measures the kinds of foreign hashes that accounts have. Otherwise the first login would have to wait for it. */
export async function meetForeignHashes(reads: Reads, passwords: Passwords): Promise<void> {
  // During an outage of the database, the first login measures them.
  const kinds = await listForeignKinds(reads, MAX_LISTED_KINDS).catch(() => [])
  if (kinds.length > 0) await passwords.matches('', undefined, undefined, kinds)
}
