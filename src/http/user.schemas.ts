import { type Static, Type } from 'typebox'
import type { User } from '../model/user.ts'
import { Email, Name, NewPassword } from './fields.ts'

export const UserId = Type.Integer()

export const UserPath = Type.Object({ user_id: UserId })
export const UserQuery = Type.Object({ user_id: Type.Optional(UserId) })

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
/** One user when the query names one, all of them otherwise. */
export const UserOrUsersView = Type.Union([UserView, Type.Array(UserView)])

export function profileView({ email, firstName, lastName }: User): Static<typeof ProfileView> {
  return { email, first_name: firstName, last_name: lastName }
}

export function userView({ id, email, firstName, lastName, role, banned, verified }: User): Static<typeof UserView> {
  return { id, email, first_name: firstName, last_name: lastName, role, banned, verified }
}
