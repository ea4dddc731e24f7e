import { SEARCH_DEFAULTS, SEARCH_FIELDS, SEARCH_MAX_SIZE, SEARCH_TERM_MAX_LENGTH } from '../../../domain/values/search.ts'
import { ALL_LANGUAGES, type Language, type Languages } from '../../../model/language.ts'
import { type FoundUsers, OWN_ACCOUNT, type OwnAccount, PROFILE, USER, type User, type UserSearch } from '../../../model/user.ts'
import {
  defaulted,
  Email,
  FirstName,
  flag,
  GivenPassword,
  integer,
  LastName,
  NewPassword,
  type Static,
  Type,
  text,
  timestamp,
} from '../../validation/schema.ts'

export const UserId = integer('The id of a user.', 7)

export const UserPath = Type.Object({ user_id: UserId })
export const UserQuery = Type.Object({ user_id: Type.Optional({ ...UserId, description: 'The id of the one user to show.' }) })

// Object.keys returns string[]; these are the keys of this object.
const FIELD_NAMES = Object.keys(SEARCH_FIELDS) as (keyof typeof SEARCH_FIELDS)[]

/** A page number of any size: a page past the end is empty, and repeats its number. */
function pageNumber(options: Parameters<typeof Type.Integer>[0]) {
  return Type.Unsafe<number | bigint>(Type.Integer(options))
}

export const SearchQuery = Type.Object({
  search_term: text('The text to search for. Case does not matter. An empty term matches every user.', 'mia', {
    maxLength: SEARCH_TERM_MAX_LENGTH,
  }),
  field: defaulted(Type.Enum(FIELD_NAMES, { default: SEARCH_DEFAULTS.field, description: 'The field to search.' })),
  exact_match: defaulted(Type.Boolean({ default: SEARCH_DEFAULTS.isExact, description: 'Whether the term has to match the whole field.' })),
  page: defaulted(
    pageNumber({
      minimum: 1,
      default: SEARCH_DEFAULTS.page,
      unbounded: true,
      description: 'The number of the page, from 1. A page past the end is empty.',
    }),
  ),
  size: defaulted(
    Type.Integer({
      minimum: 1,
      maximum: SEARCH_MAX_SIZE,
      default: SEARCH_DEFAULTS.size,
      description: 'The maximum number of users on a page.',
    }),
  ),
})

/** The changes of an account, with the languages that it may have. */
export function editBody(languages: Languages) {
  const description = 'The language of account pages and mails. With null, pages have that of the browser.'
  const LanguageName = Type.Enum([...languages], { clearable: true, description })
  return Type.Object(
    {
      email: Type.Optional(Email),
      password: Type.Optional(NewPassword),
      first_name: Type.Optional(FirstName),
      last_name: Type.Optional(LastName),
      language: Type.Optional(Type.Unsafe<Language | null>(LanguageName)),
    },
    { title: 'UserEdit', description: 'Omitted fields keep their values. At least one field is required.', atLeastOne: true },
  )
}
export const PasswordBody = Type.Object({ password: NewPassword }, { title: 'NewPassword', description: 'The new password of an account.' })
export const OwnPasswordBody = Type.Object(
  { password: GivenPassword },
  { title: 'OwnPassword', description: 'The password of the caller, which shows that the request is meant.' },
)

export const PasswordChangeBody = Type.Object(
  {
    current_password: Type.Optional({
      ...GivenPassword,
      description: 'The password of the account until now. An account without a password leaves it out.',
    }),
    password: NewPassword,
  },
  { title: 'PasswordChange', description: 'The current password of the caller and the new one.' },
)
export const NewUserBody = Type.Object(
  {
    email: Email,
    first_name: FirstName,
    last_name: LastName,
    password: Type.Optional({ ...NewPassword, description: 'The password. Without it, nobody can log in until a reset sets one.' }),
    role: defaulted(Type.Enum(['user', 'admin'], { default: 'user', description: 'The role of the user.' })),
    verified: defaulted(
      Type.Boolean({ default: true, description: 'Whether the e-mail address counts as verified. No mail is sent.', examples: [true] }),
    ),
  },
  { title: 'NewUser', description: 'An account that an admin creates.' },
)

export const OwnAccountQuery = Type.Object({
  details: defaulted(
    Type.Boolean({
      default: false,
      description: 'Whether to add `id`, `role`, `verified`, `banned`, `created_at`, `second_factor` and `language`.',
    }),
  ),
})

export const PROFILE_FIELDS = {
  email: text('The e-mail address.', 'mia@example.com'),
  first_name: text('The first name.', 'Mia'),
  last_name: text('The last name.', 'Muster'),
}

/** The basic view. */
export const ProfileView = Type.Object(PROFILE_FIELDS, { title: 'Profile', description: 'What users see of themselves.' })
export const RoleView = Type.Enum(['user', 'admin'], { description: 'The role of the user.' })
const STATE_FIELDS = {
  role: RoleView,
  banned: flag('Whether the user is banned.', false),
  verified: flag('Whether the e-mail address is verified.', true),
}
/** The full view, for admins. */
export const UserView = Type.Object(
  { id: UserId, ...PROFILE_FIELDS, ...STATE_FIELDS },
  { title: 'User', description: 'A user, as admins see it.' },
)
/** The basic view, and on request the rest. */
export const OwnAccountView = Type.Object(
  {
    ...PROFILE_FIELDS,
    id: Type.Optional({ ...UserId, description: 'The id of the user. Only with `details=true`, as all below.' }),
    role: Type.Optional(STATE_FIELDS.role),
    banned: Type.Optional(STATE_FIELDS.banned),
    verified: Type.Optional(STATE_FIELDS.verified),
    created_at: Type.Optional(timestamp('When the account was created, in UTC.')),
    second_factor: Type.Optional(flag('Whether the user has codes of an app or a passkey.', false)),
    language: Type.Optional(Type.Enum([...ALL_LANGUAGES], { description: 'The language of pages and mails, if one is known.' })),
  },
  { title: 'OwnAccount', description: 'What users see of their own account.' },
)
export const FoundUsersView = Type.Object(
  {
    items: Type.Array(UserView, { description: 'The users of this page, in order of id.' }),
    total: integer('The number of users found.', 1),
    page: pageNumber({ description: 'The number of this page, from 1.', examples: [1] }),
    size: integer('The maximum number of users on a page.', 50),
    pages: integer('The number of pages; 0 if no user was found.', 1),
  },
  { title: 'FoundUsers', description: 'One page of search results.' },
)
/** One user if the query names one, otherwise all users. */
export const UserOrUsersView = Type.Union([Type.Array(UserView), UserView])

export const profileView = PROFILE.toJson satisfies (user: User) => Static<typeof ProfileView>
export function ownAccountView(account: OwnAccount): Static<typeof OwnAccountView> {
  const { language, ...rest } = OWN_ACCOUNT.toJson(account)
  return language === null ? rest : { ...rest, language }
}
export const userView = USER.toJson satisfies (user: User) => Static<typeof UserView>

export function toUserSearch({ search_term, field, exact_match, page, size }: Static<typeof SearchQuery>): UserSearch {
  return { term: search_term, field: SEARCH_FIELDS[field], isExact: exact_match, page, size }
}

export function foundUsersView({ users, total }: FoundUsers, { page, size }: UserSearch): Static<typeof FoundUsersView> {
  return { items: users.map(userView), total, page, size, pages: Math.ceil(total / size) }
}
