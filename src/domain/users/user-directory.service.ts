import { Refusal } from '../../model/refusal.ts'
import type { ListedUser, UserListing, UserPage } from '../../model/user.ts'
import { findAnyAdmin } from '../../storage/repositories/users/user.repository.ts'
import { findListedUser, listUserPage } from '../../storage/repositories/users/user-list.repository.ts'
import type { DomainParts } from '../changes/parts.ts'
import { type CountedUsers, createUserCounting } from './user-counting.ts'

/** What admins see of all accounts. */
export type UserDirectory = {
  /** One page of a sorted and filtered list. As fast for a million accounts as for ten. */
  page(listing: UserListing): Promise<UserPage>
  find(userId: number): Promise<ListedUser>
  hasAdmin(): Promise<boolean>
  /** The last known counts, a minute old or, with many users, older. Undefined while many users are counted for the first time. */
  counts(): Promise<CountedUsers | undefined>
}

export function createUserDirectory({ reads, lists, now }: Pick<DomainParts, 'reads' | 'lists' | 'now'>): UserDirectory {
  return {
    page: (listing) => listUserPage(lists, listing),
    async find(userId) {
      const user = await findListedUser(reads, userId)
      if (user === undefined) throw new Refusal('user_not_found')
      return user
    },
    counts: createUserCounting({ lists, now }),
    hasAdmin: async () => (await findAnyAdmin(reads)) !== undefined,
  }
}
