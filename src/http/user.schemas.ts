import { type Static, Type } from 'typebox'
import type { FoundUsers, SearchField, User, UserSearch } from '../model/user.ts'
import { Email, Name, NewPassword } from './fields.ts'

export const UserId = Type.Integer()

export const UserPath = Type.Object({ user_id: UserId })
export const UserQuery = Type.Object({ user_id: Type.Optional(UserId) })

const SEARCH_FIELDS = { all: 'all', email: 'email', first_name: 'firstName', last_name: 'lastName' } as const satisfies Record<
  string,
  SearchField
>

export const SearchQuery = Type.Object({
  search_term: Type.String({ maxLength: 256, description: 'An empty term matches everyone.' }),
  field: Type.Optional(Type.Enum(['all', 'email', 'first_name', 'last_name'], { default: 'all' })),
  exact_match: Type.Optional(Type.Boolean({ default: false, description: 'Whether the whole field has to be the term.' })),
  page: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
  size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
})

export const EditBody = Type.Object(
  {
    email: Type.Optional(Email),
    password: Type.Optional(NewPassword),
    first_name: Type.Optional(Name),
    last_name: Type.Optional(Name),
  },
  { atLeastOne: true },
)
export const PasswordBody = Type.Object({ password: NewPassword })

const PROFILE_FIELDS = { email: Type.String(), first_name: Type.String(), last_name: Type.String() }

/** The basic view. */
export const ProfileView = Type.Object(PROFILE_FIELDS)
/** The full view, for admins. */
export const UserView = Type.Object({
  id: Type.Integer(),
  ...PROFILE_FIELDS,
  role: Type.Enum(['user', 'admin']),
  banned: Type.Boolean(),
  verified: Type.Boolean(),
})
export const FoundUsersView = Type.Object({
  items: Type.Array(UserView),
  total: Type.Integer(),
  page: Type.Integer(),
  size: Type.Integer(),
  pages: Type.Integer(),
})
/** One user when the query names one, all of them otherwise. */
export const UserOrUsersView = Type.Union([UserView, Type.Array(UserView)])

export function profileView({ email, firstName, lastName }: User): Static<typeof ProfileView> {
  return { email, first_name: firstName, last_name: lastName }
}

export function userView({ id, email, firstName, lastName, role, banned, verified }: User): Static<typeof UserView> {
  return { id, email, first_name: firstName, last_name: lastName, role, banned, verified }
}

export function toUserSearch(query: Static<typeof SearchQuery>): UserSearch {
  const { search_term, field = 'all', exact_match = false, page = 1, size = 50 } = query
  return { term: search_term, field: SEARCH_FIELDS[field], isExact: exact_match, page, size }
}

export function foundUsersView({ users, total }: FoundUsers, { page, size }: UserSearch): Static<typeof FoundUsersView> {
  return { items: users.map(userView), total, page, size, pages: Math.ceil(total / size) }
}
