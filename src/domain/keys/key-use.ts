import type { OwnedApiKey } from '../../model/api-key.ts'
import type { Database } from '../../storage/database.ts'
import {
  type KeyOwner,
  listAllKeys,
  listExpiredKeys,
  listKeysByName,
  listKeysByPrefix,
  listKeysOfUsers,
  listUnusedKeys,
  recordKeyUse,
} from '../../storage/repositories/keys/key.repository.ts'
import { listUserPage } from '../../storage/repositories/users/user-list.repository.ts'
import type { DomainParts } from '../changes/changes.ts'
import { PREFIX_LENGTH } from './keys.service.ts'

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

const MAX_OWNERS = 20

/** What admins see of all API keys. */
export function createKeyDirectory({ reads, lists, now }: Pick<DomainParts, 'reads' | 'lists' | 'now'>) {
  return {
    /** One page, the newest first, below a sequence number. As fast for a million keys as for ten. */
    page: (belowSeq: number | undefined, size: number) => listAllKeys(lists, belowSeq ?? Number.MAX_SAFE_INTEGER, size),
    /** The keys that begin with a text or whose name does, and those of the owners that a search finds. */
    async search(term: string, size: number): Promise<readonly OwnedApiKey[]> {
      const owners = listUserPage(lists, { term, status: undefined, sort: 'newest', place: undefined, size: MAX_OWNERS })
      const found = await Promise.all([
        listKeysByPrefix(lists, term.slice(0, PREFIX_LENGTH), size),
        listKeysByName(lists, term.toLowerCase(), size),
        owners.then(({ users }) => listKeysOfUsers(lists, JSON.stringify(users.map(({ id }) => id)), size)),
      ])
      return [...new Map(found.flat().map((key) => [key.id, key])).values()].slice(0, size)
    },
    /** The latest first. */
    expired: (size: number) => listExpiredKeys(reads, now(), size),
    /** Active keys that nobody has used for 90 days, the longest unused first. */
    unused: (size: number) => listUnusedKeys(reads, now() - UNUSED_DAYS * 24 * 60 * 60_000, size),
  }
}
