/**
 * The fields that a reader reads. The value of each name is:
 * - `true` for a plain value,
 * - a tree for an object or a list of objects, which CSV has as JSON text,
 * - a text for a field that selects entries: of a list, only the first object in which the field has this value is read.
 */
export type FieldTree = { readonly [name: string]: true | string | FieldTree }

/** An object of which only these fields are read: to read another one does not compile. */
export type Known<Fields extends FieldTree> = { readonly [Name in keyof Fields]?: unknown }

const RETIRING_SECRET_FIELDS = { key_hash: true, retired_at: true, expires_at: true } as const

const KEY_FIELDS = {
  id: true,
  name: true,
  scopes: true,
  access: true,
  is_active: true,
  created_at: true,
  expires_at: true,
  key_hash: true,
  prefix: true,
  last_used_at: true,
  retiring_secrets: RETIRING_SECRET_FIELDS,
} as const

/** The format of `latchkey user export`. */
export const USER_FIELDS = {
  id: true,
  email: true,
  first_name: true,
  last_name: true,
  role: true,
  verified: true,
  banned: true,
  created_at: true,
  last_login_at: true,
  password: true,
  password_hash: true,
  keys: KEY_FIELDS,
} as const

export type UserFields = Known<typeof USER_FIELDS>
export type KeyFields = Known<typeof KEY_FIELDS>
export type RetiringSecretFields = Known<typeof RETIRING_SECRET_FIELDS>
