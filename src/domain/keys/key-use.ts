import type { Database } from '../../storage/database.ts'
import { type KeyOwner, listExpiredKeys, listUnusedKeys, recordKeyUse } from '../../storage/repositories/keys/key.repository.ts'
import type { DomainParts } from '../changes/changes.ts'

const MIN_INTERVAL_MS = 60_000

/** Records the use of a key, at most once a minute per key. The request neither waits for this nor fails because of it. */
export function createKeyUse(db: Database, now: () => number): (owner: KeyOwner) => void {
  // Many requests may use a key before its first use is recorded.
  const inProgress = new Set<string>()

  return ({ keyId, lastUsedAt }) => {
    const usedAt = now()
    const unlessUsedAfter = usedAt - MIN_INTERVAL_MS
    if ((lastUsedAt !== undefined && lastUsedAt > unlessUsedAfter) || inProgress.has(keyId)) return
    inProgress.add(keyId)
    // SQLite writes to the disk on this thread, so the request goes first.
    setImmediate(() => {
      recordKeyUse(db, keyId, usedAt, unlessUsedAfter)
        // A missing record does no harm, and requests that need the database report an outage.
        .catch(() => undefined)
        .finally(() => inProgress.delete(keyId))
    })
  }
}

export type KeyDirectory = ReturnType<typeof createKeyDirectory>

export const UNUSED_DAYS = 90

/** What admins see of all API keys: those that should be cleaned up. */
export function createKeyDirectory({ reads, now }: Pick<DomainParts, 'reads' | 'now'>) {
  return {
    /** The latest first. */
    expired: (size: number) => listExpiredKeys(reads, now(), size),
    /** Active keys that nobody has used for 90 days, the longest unused first. */
    unused: (size: number) => listUnusedKeys(reads, now() - UNUSED_DAYS * 24 * 60 * 60_000, size),
  }
}
