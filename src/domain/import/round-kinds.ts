import { MAX_FOREIGN_KINDS, MAX_LISTED_KINDS } from '../../security/foreign/foreign-hash.ts'
import type { Database } from '../../storage/database.ts'
import { listForeignKinds, renameForeignKind } from '../../storage/repositories/import/import.repository.ts'

const BATCH_SIZE = 500

/**
 * Rounds the kinds of foreign hashes that release 0.8.0 has stored with their exact costs, if there are more than a login should list. A few
 * are rounded whenever they are read, so that the accounts of a usual import are not all written again.
 */
export async function roundForeignKinds(db: Database, isStopped: () => boolean): Promise<void> {
  while (!isStopped()) {
    const kinds = await listForeignKinds(db, MAX_LISTED_KINDS)
    if (kinds.length <= MAX_FOREIGN_KINDS) return
    const { roundedKind } = await import('../../security/foreign/kinds.ts')
    const unrounded = kinds.filter((kind) => roundedKind(kind) !== kind)
    for (const kind of unrounded) while (!isStopped() && (await renameForeignKind(db, kind, roundedKind(kind), BATCH_SIZE)) === BATCH_SIZE);
    if (unrounded.length === 0) return
  }
}
