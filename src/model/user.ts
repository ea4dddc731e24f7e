import { choice, computed, entity, flag, instant, integer, object, optional, text, type ValuesOf } from './entity.ts'
import { ALL_LANGUAGES, type Language } from './language.ts'

export type Role = 'user' | 'admin'

/** The fields that users set themselves. The service decides everything else about an account. */
export const PROFILE = entity('users', { email: text, firstName: text, lastName: text })
/** What every request reads of its caller. */
export const USER = entity('users', { id: integer, ...PROFILE.fields, role: choice<Role>('user', 'admin'), banned: flag, verified: flag })
/** What only lists, exports and the pages of an account read. An optional field of an account belongs here. */
export const USER_DETAILS = entity('users', {
  createdAt: instant,
  lastLoginAt: optional(instant),
  // The plan that an admin has chosen. Without it, the first of the settings.
  plan: optional(text),
  // In which its owner reads pages and mails.
  language: optional(choice<Language>(...ALL_LANGUAGES)),
})
/** What limits the keys of an account. */
export const USER_PLAN = entity('users', { plan: USER_DETAILS.fields.plan })
/** How pages and mails are written for the owner of an account. */
export const USER_LANGUAGE = entity('users', { language: USER_DETAILS.fields.language })
/** What only signing in and the use of mailed tokens may read. */
export const USER_SECRETS = entity('users', {
  passwordHash: text,
  emailVersion: integer,
  resetVersion: integer,
  // Whether a login asks for a code of an app, and the number of passkeys.
  totp: flag,
  passkeys: integer,
})
/** What most rules read of an account. */
export const ACCOUNT = entity('users', { ...USER.fields, ...USER_SECRETS.fields })
/** Whether the owner of an account has anything besides a password. */
export const USER_FACTOR = entity('users', { hasFactor: computed(flag, '(users.totp or users.passkeys > 0)') })
/** What users see of their own account on request. */
export const OWN_ACCOUNT = entity('users', {
  ...USER.fields,
  createdAt: USER_DETAILS.fields.createdAt,
  secondFactor: USER_FACTOR.fields.hasFactor,
  language: USER_DETAILS.fields.language,
})
/** What derives from other fields: the key and the copies that searches read, and the kind of a hash that another system made. */
export const USER_COPIES = entity('users', {
  emailKey: text,
  firstNameFolded: text,
  lastNameFolded: text,
  foreignKind: optional(text),
})
/** A whole row. */
export const USER_ROW = entity('users', { ...USER.fields, ...USER_SECRETS.fields, ...USER_DETAILS.fields, ...USER_COPIES.fields })

/** A new address that an account has asked for. */
export const EMAIL_CHANGE = entity('email_changes', {
  email: text,
  // Named by the token in the mail. A newer request has another one.
  version: integer,
  // The reset version that the account had. The request ends when the account has another one.
  resetVersion: integer,
  confirmedAt: optional(instant),
})

export type EmailChange = ValuesOf<typeof EMAIL_CHANGE.fields>
export type Profile = ValuesOf<typeof PROFILE.fields>
export type User = ValuesOf<typeof USER.fields>

/**
 * From the values of the columns of USER, in their order, which come first. Every request reads its caller so: it takes a tenth of the time
 * of a loop over the fields.
 */
export function readUser(values: readonly unknown[]): User {
  return {
    id: values[0] as number,
    email: values[1] as string,
    firstName: values[2] as string,
    lastName: values[3] as string,
    role: values[4] as Role,
    banned: Boolean(values[5]),
    verified: Boolean(values[6]),
  }
}
export type UserSecrets = ValuesOf<typeof USER_SECRETS.fields>
export type Account = ValuesOf<typeof ACCOUNT.fields>
export type OwnAccount = ValuesOf<typeof OWN_ACCOUNT.fields>
export type UserRow = ValuesOf<typeof USER_ROW.fields>

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
export type ListedUser = User & ValuesOf<typeof USER_DETAILS.fields>

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

/** What a product keeps about an account: `profile`, which its owner writes, and `app`, which only admins write. */
export const USER_DATA = entity('user_data', { profile: object, app: object })
export const USER_DATA_ROW = entity('user_data', { userId: integer, ...USER_DATA.fields })

export type UserData = ValuesOf<typeof USER_DATA.fields>
export type UserDataRow = ValuesOf<typeof USER_DATA_ROW.fields>

export const NO_DATA: UserData = { profile: {}, app: {} }
