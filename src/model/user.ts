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

/** What a person types about themself; everything else about an account is decided by the service. */
export type Profile = {
  readonly email: string
  readonly firstName: string
  readonly lastName: string
}

export type SearchField = 'all' | keyof Profile

export type UserSearch = {
  readonly term: string
  readonly field: SearchField
  /** Whether the whole field has to be the term, rather than hold it. */
  readonly isExact: boolean
  /** From 1; a bigint where it is too large for a number. */
  readonly page: number | bigint
  readonly size: number
}

export type FoundUsers = { readonly users: readonly User[]; readonly total: number }
