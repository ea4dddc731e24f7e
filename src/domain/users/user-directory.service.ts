import type { ListedUser, UserCounts, UserListing, UserPage } from '../../model/user.ts'
import { listKeysByPrefix } from '../../storage/repositories/keys/key.repository.ts'
import { findUserByEmail, hasAdmin } from '../../storage/repositories/users/user.repository.ts'
import { countUsers, findListedUser, listAddresses, listUserPage } from '../../storage/repositories/users/user-list.repository.ts'
import { foundUser } from '../changes/callers.ts'
import type { DomainParts } from '../changes/changes.ts'
import { PREFIX_LENGTH } from '../keys/keys.service.ts'
import { emailKey } from '../values/email.ts'

const ID = /^\d{1,15}$/
// The beginning of a key, or all of it.
const KEY_BEGINNING = /^[a-z0-9]{2,16}_[\w-]*$/
const MAX_OWNERS = 10

export type UserDirectory = ReturnType<typeof createUserDirectory>

/** What admins see of all accounts. */
export function createUserDirectory({ reads, lists, now }: Pick<DomainParts, 'reads' | 'lists' | 'now'>) {
  /** The user of an id, and the owners of keys that begin with a term. */
  async function namedBy(term: string): Promise<ListedUser[]> {
    const keys = KEY_BEGINNING.test(term) ? await listKeysByPrefix(lists, term.slice(0, PREFIX_LENGTH), MAX_OWNERS) : []
    const ids = new Set([...(ID.test(term) ? [Number(term)] : []), ...keys.map(({ ownerId }) => ownerId)])
    const users = await Promise.all([...ids].map((id) => findListedUser(lists, id)))
    return users.filter((user) => user !== undefined)
  }

  return {
    /**
     * One page of a sorted and filtered list. As fast for a million accounts as for ten. A search without a filter starts with the user of
     * an id, and with the owners of keys that begin with the term.
     */
    async page(listing: UserListing): Promise<UserPage> {
      const { term, status, place } = listing
      const page = await listUserPage(lists, listing)
      if (status !== undefined || place !== undefined) return page
      const named = await namedBy(term)
      const others = page.users.filter(({ id }) => !named.some((user) => user.id === id))
      return { ...page, users: [...named, ...others] }
    },
    find: async (userId: number): Promise<ListedUser> => foundUser(await findListedUser(reads, userId)),
    /** The last known counts, a minute old or, with many users, older. Undefined while many users are counted for the first time. */
    counts: createUserCounting({ lists, now }),
    /** The addresses of some users, by their ids. Users without an account are left out. */
    addressesOf: (ids: readonly number[]) => listAddresses(reads, ids),
    idOfAddress: async (email: string) => (await findUserByEmail(reads, emailKey(email)))?.id,
    hasAdmin: () => hasAdmin(reads),
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
