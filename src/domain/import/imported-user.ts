import { KEY, type KeyRow, RETIRING_SECRET, type RetiringSecret } from '../../model/api-key.ts'
import { type Entity, entity, type Fields, flag, type Given, type JsonOf, text, texts, without } from '../../model/entity.ts'
import { PASSKEY_ROW, type PasskeyRow, TOTP_SECRET, type TotpSecret } from '../../model/factor.ts'
import { type ExportedIdentity, IDENTITY_ROW } from '../../model/provider.ts'
import { USER, USER_DATA, USER_DETAILS, type UserRow } from '../../model/user.ts'
import type { DataChange } from '../users/user-data.service.ts'

/** The fields of an account that files contain. A new one needs its declaration in the model only. */
export const MOVED_USER = entity('users', { ...USER.fields, ...USER_DETAILS.fields })
// A former secret is exported separately, with its hash.
export const MOVED_KEY = without(KEY, 'retiringUntil')
/** With the hash, which an export contains on request only. */
export const MOVED_KEY_AND_HASH = entity('api_keys', { ...MOVED_KEY.fields, keyHash: text })
/** A former secret of a rotated key, which works until its overlap ends. */
export const MOVED_SECRET = without(RETIRING_SECRET, 'keyId')
/**
 * The secret of an app, with the hashes of the recovery codes. An export contains it on request only, and not encrypted: the SECRET_KEY of
 * another service would not open it.
 */
export const MOVED_TOTP = entity('totp_secrets', { ...without(TOTP_SECRET, 'userId', 'sealedWith').fields, recoveryCodes: texts })
export const MOVED_PASSKEY = without(PASSKEY_ROW, 'userId')
/** An account of another provider. It is no secret: who has only this opens nothing. */
export const MOVED_IDENTITY = entity('identities', { ...without(IDENTITY_ROW, 'userId').fields, proven: flag })

/** The name of whoever, and of whatever, has none. */
export const NO_NAME = '-'

/**
 * The fields that a reader reads. The value of each name is:
 * - `true` for a plain value,
 * - a tree for an object or a list of objects, which CSV has as JSON text,
 * - a text for a field that selects entries: of a list, only the first object in which the field has this value is read.
 */
export type FieldTree = { readonly [name: string]: true | string | FieldTree }

/** An object of which only these fields are read: to read another one does not compile. */
export type Known<Tree extends FieldTree> = { readonly [Name in keyof Tree]?: unknown }

/** The format of `latchkey user export`. */
export const USER_FIELDS = {
  ...namesOf(MOVED_USER),
  password: true,
  password_hash: true,
  totp: namesOf(MOVED_TOTP),
  passkeys: namesOf(MOVED_PASSKEY),
  providers: namesOf(MOVED_IDENTITY),
  data: namesOf(USER_DATA),
  keys: { ...namesOf(MOVED_KEY_AND_HASH), retiring_secrets: namesOf(MOVED_SECRET) },
} as const
export type UserFields = Known<typeof USER_FIELDS>

function namesOf<F extends Fields>({ jsonNames }: Entity<F>): Readonly<Record<keyof JsonOf<F>, true>> {
  // Each name belongs to a field.
  return Object.fromEntries(jsonNames.map((name) => [name, true])) as Record<keyof JsonOf<F>, true>
}

/** A user of a file, checked. What the file leaves out is undefined. */
export type ImportedUser = Given<typeof MOVED_USER.fields> &
  Pick<UserRow, 'email' | 'emailKey' | 'foreignKind'> & {
    /** Where the user is in the file. */
    readonly line: number
    /** The hash, or the password itself, which the import hashes. */
    readonly passwordHash?: string | undefined
    readonly password?: string | undefined
    /** The objects that the file has. They replace those of the account. */
    readonly data?: DataChange | undefined
    readonly keys: readonly ImportedKey[]
    readonly totpSecret?: ImportedTotp | undefined
    readonly passkeyList: readonly ImportedPasskey[]
    readonly identities: readonly ImportedIdentity[]
  }

/** A key of a file. Without a hash in the file it has a random one. */
export type ImportedKey = Omit<KeyRow, 'userId' | 'createdAt'> & {
  readonly createdAt?: number | undefined
  readonly retiringSecrets: readonly Omit<RetiringSecret, 'keyId'>[]
}

/** The secret of an app as a file contains it. */
export type ImportedTotp = Pick<TotpSecret, 'secret' | 'lastStep' | 'salt'> & {
  readonly createdAt?: number | undefined
  readonly confirmedAt?: number | undefined
  readonly recoveryCodes: readonly string[]
}

export type ImportedPasskey = Omit<PasskeyRow, 'userId' | 'createdAt' | 'lastUsedAt'> & {
  readonly createdAt?: number | undefined
  readonly lastUsedAt?: number | undefined
}

export type ImportedIdentity = Omit<ExportedIdentity, 'userId' | 'connectedAt' | 'proven'> &
  Partial<Record<'connectedAt', number | undefined> & Record<'proven', boolean | undefined>>

/** A user of a file that cannot be imported. The reason never contains a password or a hash. */
export class Rejected extends Error {
  override readonly name = 'Rejected'
}
