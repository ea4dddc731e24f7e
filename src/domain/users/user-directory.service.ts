import type { ListedUser, UserCounts, UserListing } from '../../model/user.ts'
import { findAnyAdmin } from '../../storage/repositories/users/user.repository.ts'
import { countUsers, findListedUser, listUserPage } from '../../storage/repositories/users/user-list.repository.ts'
import { foundUser } from '../changes/callers.ts'
import type { DomainParts } from '../changes/changes.ts'

export type UserDirectory = ReturnType<typeof createUserDirectory>

/** What admins see of all accounts. */
export function createUserDirectory({ reads, lists, now }: Pick<DomainParts, 'reads' | 'lists' | 'now'>) {
  return {
    /** One page of a sorted and filtered list. As fast for a million accounts as for ten. */
    page: (listing: UserListing) => listUserPage(lists, listing),
    find: async (userId: number): Promise<ListedUser> => foundUser(await findListedUser(reads, userId)),
    /** The last known counts, a minute old or, with many users, older. Undefined while many users are counted for the first time. */
    counts: createUserCounting({ lists, now }),
    hasAdmin: async () => (await findAnyAdmin(reads)) !== undefined,
  }
}

/** The last known counts, and when they were made. */
export type CountedUsers = { readonly counts: UserCounts; readonly at: number }

const KEPT_MS = 60_000
// Counting many users takes a while, and must not be most of what the database does.
const KEPT_TIMES = 20
const DAYS_COUNTED = 30
const PART_SIZE = 20_000

type Parts = Pick<DomainParts, 'lists' | 'now'> & { readonly partSize?: number }

/**
 * Counts all users when somebody asks and the last counts are too old. A few users are counted at once. Many are counted in the background,
 * and meanwhile the answer is the last known counts, or undefined if there are none.
 */
export function createUserCounting({ lists, now, partSize = PART_SIZE }: Parts): () => Promise<CountedUsers | undefined> {
  let known: (CountedUsers & { readonly keptMs: number }) | undefined
  let counting: Promise<void> | undefined

  function isFresh(): boolean {
    return known !== undefined && now() >= known.at && now() - known.at < known.keptMs
  }

  /** Resolves with the counting, or as soon as it turns out to be long. */
  function start(): Promise<void> {
    const startedAt = now()
    return new Promise((resolve) => {
      countUsers(lists, { now: startedAt, days: DAYS_COUNTED, partSize, onLong: resolve })
        .then((counts) => {
          known = { counts, at: now(), keptMs: Math.max(KEPT_MS, KEPT_TIMES * (now() - startedAt)) }
        })
        // A failure is not kept: the next page tries again.
        .catch(() => undefined)
        .finally(() => {
          counting = undefined
          resolve()
        })
    })
  }

  return async () => {
    if (!isFresh()) {
      counting ??= start()
      await counting
    }
    return known
  }
}
