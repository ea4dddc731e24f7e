import { isObject, type JsonObject } from '../../../domain/moving/imported-user.ts'
import { isTrue, objectOf, type Source, splitName } from './source.ts'

/** The export of users, and the export of password hashes that the support of Auth0 makes. Each has fields that the other lacks. */
export const AUTH0: Source = {
  title: 'Auth0',
  csvColumns: ['email', 'user_id'],
  mark: 'user_id or _id',
  isUser: (record) => '_id' in record || 'user_id' in record || 'passwordHash' in record,
  convert(record) {
    const identifier = emailIdentifier(record)
    const created = record['created_at']
    const given = { first_name: record['given_name'], last_name: record['family_name'] }
    const names = given.first_name || given.last_name ? given : splitName(fullName(record))
    return {
      email: record['email'] ?? identifier['value'],
      ...names,
      verified: isTrue(record['email_verified'] ?? identifier['verified']),
      ...('blocked' in record && { banned: isTrue(record['blocked']) }),
      created_at: typeof created === 'string' ? created : objectOf(created)['$date'],
      last_login_at: record['last_login'],
      password_hash: record['passwordHash'],
    }
  },
}

/** Auth0 puts the address in place of a name that it does not know. */
function fullName(record: JsonObject): unknown {
  return record['name'] === record['email'] ? undefined : record['name']
}

function emailIdentifier(record: JsonObject): JsonObject {
  const list: readonly unknown[] = Array.isArray(record['identifiers']) ? record['identifiers'] : []
  return list.filter(isObject).find(({ type }) => type === 'email') ?? {}
}
