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
