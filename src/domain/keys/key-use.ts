import type { Database } from '../../storage/database.ts'
import { type KeyOwner, recordKeyUse } from '../../storage/repositories/keys/key.repository.ts'

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
