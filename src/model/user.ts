export type Role = 'user' | 'admin'

export type User = {
  readonly id: number
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly role: Role
  readonly banned: boolean
  readonly verified: boolean
}

/** The fields that users set themselves. The service decides everything else about an account. */
export type Profile = {
  readonly email: string
  readonly firstName: string
  readonly lastName: string
}

export type SearchField = 'all' | keyof Profile

export type UserSearch = {
  readonly term: string
  readonly field: SearchField
  /** Whether the term must equal the whole field, rather than be a part of it. */
  readonly isExact: boolean
  /** Starts at 1; a bigint if it is too large for a number. */
  readonly page: number | bigint
  readonly size: number
}

export type FoundUsers = { readonly users: readonly User[]; readonly total: number }

/** A user as admins see them in a list. */
export type ListedUser = User & {
  readonly createdAt: number
  /** When they last logged in; undefined if they never have. */
  readonly lastLoginAt: number | undefined
}

/** An account may have several: an admin who is verified and not banned is active too. */
export type UserStatus = 'active' | 'unverified' | 'banned' | 'admin'
export type UserSort = 'newest' | 'oldest' | 'email' | 'signed-in'

/** A place in a sorted list: the page starts after it, or ends before it. */
export type UserPlace = { readonly direction: 'after' | 'before'; readonly key: string | number; readonly id: number }

export type UserListing = {
  /** A part of a name or an address. Empty for everybody. */
  readonly term: string
  readonly status: UserStatus | undefined
  readonly sort: UserSort
  readonly place: UserPlace | undefined
  readonly size: number
}

/** One page of a list, with the places of its neighbours. */
export type UserPage = {
  readonly users: readonly ListedUser[]
  readonly previous: UserPlace | undefined
  readonly next: UserPlace | undefined
  /** A search that did not read the whole list: after how many users it stopped, and whether a longer term could find all matches. */
  readonly stopped: { readonly after: number; readonly isShortTerm: boolean } | undefined
}

export type UserCounts = Readonly<Record<UserStatus | 'all', number>> & {
  /** How many were created on each of the last days, today last. */
  readonly perDay: readonly { readonly startsAt: number; readonly count: number }[]
}
