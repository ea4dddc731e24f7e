import { Refusal } from '../../model/refusal.ts'
import type { ListedUser, UserListing, UserPage } from '../../model/user.ts'
import { findAnyAdmin } from '../../storage/repositories/accounts/admin.repository.ts'
import { findListedUser, listUserPage } from '../../storage/repositories/accounts/user-list.repository.ts'
import type { DomainParts } from '../parts.ts'

/** What admins see of all accounts. */
export type UserDirectory = {
  /** One page of a sorted and filtered list. As fast for a million accounts as for ten. */
  page(listing: UserListing): Promise<UserPage>
  find(userId: number): Promise<ListedUser>
  hasAdmin(): Promise<boolean>
}

export function createUserDirectory({ reads }: Pick<DomainParts, 'reads'>): UserDirectory {
  return {
    page: (listing) => listUserPage(reads, listing),
    async find(userId) {
      const user = await findListedUser(reads, userId)
      if (user === undefined) throw new Refusal('user_not_found')
      return user
    },
    hasAdmin: async () => (await findAnyAdmin(reads)) !== undefined,
  }
}
