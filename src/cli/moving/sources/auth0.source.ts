import { isObject, type JsonObject } from '../../../domain/moving/imported-user.ts'
import { defineSource, isTrue, objectOf, splitName } from './source.ts'

const EMAIL = 'email'

/** The export of users, and the export of password hashes that the support of Auth0 makes. Each has fields that the other lacks. */
export const AUTH0 = defineSource({
  title: 'Auth0',
  csvColumns: ['email', 'user_id'],
  mark: 'user_id or _id',
  isUser: (record) => '_id' in record || 'user_id' in record || 'passwordHash' in record,
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
  },
  convert(record) {
    const identifier = emailIdentifier(record)
    const created = record.created_at
    const given = { first_name: record.given_name, last_name: record.family_name }
    const names = given.first_name || given.last_name ? given : splitName(fullName(record))
    return {
      email: record.email ?? identifier['value'],
      ...names,
      verified: isTrue(record.email_verified ?? identifier['verified']),
      ...('blocked' in record && { banned: isTrue(record.blocked) }),
      created_at: typeof created === 'string' ? created : objectOf(created)['$date'],
      last_login_at: record.last_login,
      password_hash: record.passwordHash,
    }
  },
})

/** Auth0 puts the address in place of a name that it does not know. */
function fullName({ name, email }: JsonObject): unknown {
  return name === email ? undefined : name
}

function emailIdentifier({ identifiers }: JsonObject): JsonObject {
  const list: readonly unknown[] = Array.isArray(identifiers) ? identifiers : []
  return list.filter(isObject).find(({ type }) => type === EMAIL) ?? {}
}
