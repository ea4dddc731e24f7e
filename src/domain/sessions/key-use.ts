import type { Database } from '../../storage/database.ts'
import { type KeyOwner, recordKeyUse } from '../../storage/repositories/api-key.repository.ts'

const MIN_INTERVAL_MS = 60_000

/** Takes note that a key is used, at most once a minute per key. The request that uses it neither waits for this nor fails with it. */
export function createKeyUse(db: Database, now: () => number): (owner: KeyOwner) => void {
  // Many requests may come with one key before the first has been noted.
  const underway = new Set<string>()

  return ({ keyId, lastUsedAt }) => {
    const usedAt = now()
    const notSince = usedAt - MIN_INTERVAL_MS
    if ((lastUsedAt !== undefined && lastUsedAt > notSince) || underway.has(keyId)) return
    underway.add(keyId)
    // SQLite writes to the disk on this thread: the request goes first.
    setImmediate(() => {
      recordKeyUse(db, keyId, usedAt, notSince)
        // A use that is not on record harms nobody, and an outage is told by the requests that need the database.
        .catch(() => undefined)
        .finally(() => underway.delete(keyId))
    })
  }
}
