import { checkBoolean } from '../../../domain/import/field-checks.ts'
import { isObject, type JsonObject, Rejected } from '../../../domain/import/imported-user.ts'
import { REASON } from '../rejects.ts'
import { CUSTOM_HASH_FIELDS, customHash } from './auth0-hash.ts'
import { defineSource, objectOf, splitName } from './source.ts'

const EMAIL = 'email'

/** At least one of them is in every record of an export, and in almost every one of a bulk import. */
const MARKS = ['_id', 'user_id', 'passwordHash', 'email_verified', 'custom_password_hash', 'app_metadata', 'user_metadata']

/** All that the schema of the bulk import allows, of which only `email` is required, and what a file of rejects adds. */
const BULK_NAMES = new Set([
  ...MARKS,
  REASON,
  'email',
  'username',
  'given_name',
  'family_name',
  'name',
  'nickname',
  'picture',
  'blocked',
  'password_hash',
  'mfa_factors',
  'phone_number',
  'phone_verified',
])

/**
 * The export of users, and the export of password hashes that the support of Auth0 makes. Each has fields that the other lacks. A file in
 * the schema of the bulk import has fields of both.
 */
export const AUTH0 = defineSource({
  title: 'Auth0',
  csvColumns: ['email', 'user_id'],
  mark: 'user_id, _id or email_verified',
  isUser: (record) =>
    MARKS.some((name) => name in record) || ('email' in record && Object.keys(record).every((name) => BULK_NAMES.has(name))),
  fields: {
    email: true,
    email_verified: true,
    identifiers: { type: EMAIL, value: true, verified: true },
    given_name: true,
    family_name: true,
    name: true,
    blocked: true,
    created_at: true,
    last_login: true,
    passwordHash: true,
    password_hash: true,
    custom_password_hash: CUSTOM_HASH_FIELDS,
  },
  convert(record) {
    const identifier = emailIdentifier(record)
    const created = record.created_at
    const given = { first_name: record.given_name, last_name: record.family_name }
    const names = given.first_name || given.last_name ? given : splitName(fullName(record))
    return {
      email: record.email ?? identifier['value'],
      ...names,
      verified: checkBoolean('email_verified', record.email_verified ?? identifier['verified']) ?? false,
      ...('blocked' in record && { banned: checkBoolean('blocked', record.blocked) ?? false }),
      created_at: typeof created === 'string' ? created : objectOf(created)['$date'],
      last_login_at: record.last_login,
      password_hash: hashOf(record),
    }
  },
})

function hashOf({ passwordHash, password_hash, custom_password_hash }: JsonObject): unknown {
  const given = [passwordHash, password_hash, customHash(custom_password_hash)].filter(Boolean)
  if (given.length > 1) throw new Rejected('passwordHash, password_hash, custom_password_hash: only one of them may be given')
  return given[0]
}

/** Auth0 puts the address in place of a name that it does not know. */
function fullName({ name, email }: JsonObject): unknown {
  return name === email ? undefined : name
}

function emailIdentifier({ identifiers }: JsonObject): JsonObject {
  const list: readonly unknown[] = Array.isArray(identifiers) ? identifiers : []
  return list.filter(isObject).find(({ type }) => type === EMAIL) ?? {}
}
