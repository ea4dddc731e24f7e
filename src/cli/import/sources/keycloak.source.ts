import { checkBoolean } from '../../../domain/import/field-checks.ts'
import { isObject, type JsonObject } from '../../../model/entity.ts'
import { defineSource, fromTimestamp, objectOf, plain } from './source.ts'

const PASSWORD = 'password'
const ARGON2_VERSIONS: Readonly<Record<string, number>> = { '1.0': 16, '1.3': 19 }

/** The export of a realm with its users, or the files of users beside it. */
export const KEYCLOAK = defineSource({
  title: 'Keycloak',
  listName: 'users',
  mark: 'username',
  isUser: (record) => 'username' in record,
  // The account of a client, which nobody logs in to.
  isOther: (record) => 'serviceAccountClientId' in record,
  fields: {
    ...plain('email', 'firstName', 'lastName', 'emailVerified', 'enabled', 'createdTimestamp'),
    credentials: { type: PASSWORD, ...plain('credentialData', 'secretData') },
  },
  convert: (record) => ({
    email: record.email,
    first_name: record.firstName,
    last_name: record.lastName,
    verified: checkBoolean('emailVerified', record.emailVerified) ?? false,
    banned: 'enabled' in record && checkBoolean('enabled', record.enabled) !== true,
    created_at: fromTimestamp(record.createdTimestamp),
    password_hash: hashOf(record),
  }),
})

/** Keycloak keeps algorithm, cost, salt and hash apart; the standard form has them in one text. */
function hashOf({ credentials }: JsonObject): string | undefined {
  const list: readonly unknown[] = Array.isArray(credentials) ? credentials : []
  const password = list.filter(isObject).find(({ type }) => type === PASSWORD)
  if (password === undefined) return undefined
  const data = objectOf(password['credentialData'])
  const { value, salt } = objectOf(password['secretData'])
  const algorithm = textOf(data['algorithm'])
  const ending = `${unpadded(salt)}$${unpadded(value)}`
  if (algorithm === 'argon2') return `${argon2Prefix(data)}$${ending}`
  // The name without a digest is SHA-1.
  return `$${algorithm === 'pbkdf2' ? 'pbkdf2-sha1' : algorithm}$i=${textOf(data['hashIterations'])}$${ending}`
}

function argon2Prefix(data: JsonObject): string {
  const parameters = objectOf(data['additionalParameters'])
  const first = (name: string) => (Array.isArray(parameters[name]) ? textOf(parameters[name][0]) : '')
  const version = ARGON2_VERSIONS[first('version')] ?? first('version')
  const cost = `m=${first('memory')},t=${textOf(data['hashIterations'])},p=${first('parallelism')}`
  return `$argon2${first('type')}$v=${version}$${cost}`
}

function unpadded(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll('=', '') : ''
}

/** A text or a number as text. Empty for anything else, of which an object may not even be convertible to text. */
function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
