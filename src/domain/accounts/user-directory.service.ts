import { Refusal } from '../../model/refusal.ts'
import type { ListedUser, UserCounts, UserListing, UserPage } from '../../model/user.ts'
import { findAnyAdmin } from '../../storage/repositories/accounts/admin.repository.ts'
import { countUsers } from '../../storage/repositories/accounts/user-counts.repository.ts'
import { findListedUser, listUserPage } from '../../storage/repositories/accounts/user-list.repository.ts'
import type { DomainParts } from '../parts.ts'

/** What admins see of all accounts. */
export type UserDirectory = {
  /** One page of a sorted and filtered list. As fast for a million accounts as for ten. */
  page(listing: UserListing): Promise<UserPage>
  find(userId: number): Promise<ListedUser>
  hasAdmin(): Promise<boolean>
  /** At most a minute old: counting reads an index from one end to the other. */
  counts(): Promise<UserCounts>
}

const COUNTS_KEPT_MS = 60_000
const DAYS_COUNTED = 30

export function createUserDirectory({ reads, lists, now }: Pick<DomainParts, 'reads' | 'lists' | 'now'>): UserDirectory {
  let counted: { readonly at: number; readonly counts: Promise<UserCounts> } | undefined

  return {
    page: (listing) => listUserPage(lists, listing),
    async find(userId) {
      const user = await findListedUser(reads, userId)
      if (user === undefined) throw new Refusal('user_not_found')
      return user
    },
    counts() {
      if (counted === undefined || now() - counted.at >= COUNTS_KEPT_MS || now() < counted.at) {
        const counts = countUsers(lists, now(), DAYS_COUNTED)
        counted = { at: now(), counts }
        // A failure is not kept: the next page tries again.
        counts.catch(() => {
          counted = undefined
        })
      }
      return counted.counts
    },
    hasAdmin: async () => (await findAnyAdmin(reads)) !== undefined,
  }
}
