import { MAX_LISTED_KINDS } from '../../security/foreign/foreign-hash.ts'
import type { Database } from '../../storage/database.ts'
import { listForeignKinds, renameForeignKind } from '../../storage/repositories/accounts/foreign-hash.repository.ts'

const BATCH_SIZE = 500

/** Rounds the kinds of foreign hashes that release 0.8.0 has stored with their exact costs: there may be as many of them as accounts. */
export async function roundForeignKinds(db: Database, isStopped: () => boolean): Promise<void> {
  for (;;) {
    const kinds = await listForeignKinds(db, MAX_LISTED_KINDS)
    if (kinds.length === 0) return
    // Loaded only if accounts have foreign hashes.
    const { roundedKind } = await import('../../security/foreign/kinds.ts')
    const unrounded = kinds.filter((kind) => roundedKind(kind) !== kind)
    for (const kind of unrounded) while (!isStopped() && (await renameForeignKind(db, kind, roundedKind(kind), BATCH_SIZE)) === BATCH_SIZE);
    if (unrounded.length === 0 || isStopped()) return
  }
}
