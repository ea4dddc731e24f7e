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
