import { checkBoolean } from '../../../domain/import/field-checks.ts'
import { type Known, Rejected } from '../../../domain/import/imported-user.ts'
import { isObject, type JsonObject } from '../../../model/entity.ts'
import { UnusableHash } from '../../../security/foreign/foreign-hash.ts'
import { REASON } from '../rejects.ts'
import { defineSource, objectOf, plain, splitName } from './source.ts'

const EMAIL = 'email'

/** The fields of a `custom_password_hash` that are read. The others belong to algorithms that are not taken over. */
const CUSTOM_HASH_FIELDS = {
  ...plain('algorithm', 'keylen', 'cost', 'blockSize', 'parallelization'),
  hash: plain('value', 'encoding'),
  salt: plain('value', 'encoding'),
  password: plain('encoding'),
}

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
    ...plain('email', 'email_verified', 'given_name', 'family_name', 'name', 'blocked', 'created_at', 'last_login'),
    ...plain('passwordHash', 'password_hash'),
    identifiers: { type: EMAIL, ...plain('value', 'verified') },
    custom_password_hash: CUSTOM_HASH_FIELDS,
    mfa_factors: { totp: plain('secret') },
  },
  convert(record) {
    const identifier = emailIdentifier(record)
    const created = record.created_at
    const given = { first_name: record.given_name, last_name: record.family_name }
    // Auth0 puts the address in place of a name that it does not know.
    const fullName = record.name === record.email ? undefined : record.name
    const names = given.first_name || given.last_name ? given : splitName(fullName)
    return {
      email: record.email ?? identifier['value'],
      ...names,
      verified: checkBoolean('email_verified', record.email_verified ?? identifier['verified']) ?? false,
      ...('blocked' in record && { banned: checkBoolean('blocked', record.blocked) ?? false }),
      created_at: typeof created === 'string' ? created : objectOf(created)['$date'],
      last_login_at: record.last_login,
      password_hash: hashOf(record),
      totp: totpOf(record),
    }
  },
})

function hashOf({ passwordHash, password_hash, custom_password_hash }: JsonObject): unknown {
  const given = [passwordHash, password_hash, customHash(custom_password_hash)].filter(Boolean)
  if (given.length > 1) throw new Rejected('passwordHash, password_hash, custom_password_hash: only one of them may be given')
  return given[0]
}

/** Of an account that has no codes, the bulk import has no entry of this kind. */
function totpOf({ mfa_factors }: JsonObject): unknown {
  const list: readonly unknown[] = Array.isArray(mfa_factors) ? mfa_factors : []
  const given = list.filter(isObject).flatMap(({ totp }) => (totp === undefined ? [] : [totp]))
  if (given.length > 1) throw new Rejected('mfa_factors: only one of them may have totp')
  const [totp] = given
  return isObject(totp) ? { secret: totp['secret'] } : totp
}

function emailIdentifier({ identifiers }: JsonObject): JsonObject {
  const list: readonly unknown[] = Array.isArray(identifiers) ? identifiers : []
  return list.filter(isObject).find(({ type }) => type === EMAIL) ?? {}
}

type CustomHash = Known<typeof CUSTOM_HASH_FIELDS>
type Encoded = Known<typeof CUSTOM_HASH_FIELDS.hash>

const WEAK = new Set<unknown>(['md4', 'md5', 'sha1', 'sha256', 'sha512', 'hmac', 'ldap'])
const ENCODINGS = { hash: ['hex', 'base64'], salt: ['hex', 'base64', 'utf8'] } as const
const SHAPES = { hex: /^(?:[0-9a-f]{2})+$/i, base64: /^[\w+/-]+={0,2}$/, utf8: /./s }
// Without the parameters, which have defaults. The digest may have a name that OpenSSL gives to a signature.
const PBKDF2_DEFAULTS = /^(\$pbkdf2-[^$]+)(\$[^$]+\$[^$]+)$/
const PBKDF2_DIGEST = /^\$pbkdf2-(?:RSA-)?SHA(1|256|512)(?:WithRSAEncryption)?\$/i

/** The hash in the form that is stored, or the reason why it cannot be taken over. Undefined if there is none. */
function customHash(value: unknown): string | UnusableHash | undefined {
  if (value === undefined || value === null) return undefined
  try {
    return readHash(objectOf(value))
  } catch (error) {
    if (error instanceof UnusableHash) return error
    throw error
  }
}

const READERS = new Map<unknown, (custom: CustomHash) => string>([
  ['argon2', standardText],
  ['bcrypt', standardText],
  ['pbkdf2', (custom) => standardText(custom).replace(PBKDF2_DEFAULTS, '$1$i=100000,l=64$2').replace(PBKDF2_DIGEST, '$pbkdf2-sha$1$')],
  ['scrypt', scryptText],
])

function readHash(custom: CustomHash): string {
  const { algorithm } = custom
  const read = READERS.get(algorithm)
  if (read === undefined)
    throw new UnusableHash(WEAK.has(algorithm) ? `${String(algorithm)} is too weak to take over` : 'it is of an unknown kind')
  const password: Known<typeof CUSTOM_HASH_FIELDS.password> = objectOf(custom.password)
  if ((password.encoding ?? 'utf8') !== 'utf8') throw new UnusableHash('it is of a password that was not encoded in UTF-8')
  return read(custom)
}

function standardText(custom: CustomHash): string {
  // Auth0 puts such a salt before or after the password.
  if (custom.salt !== undefined && custom.salt !== null) throw new UnusableHash('its salt beside the hash is not supported')
  const { value }: Encoded = objectOf(custom.hash)
  if (typeof value !== 'string') throw new UnusableHash('its hash.value should be text')
  return value
}

function scryptText(custom: CustomHash): string {
  const [key, salt] = [decode('hash', custom.hash), decode('salt', custom.salt)]
  if (custom.keylen !== key.length) throw new UnusableHash('its keylen should be the number of bytes of the hash')
  const [N, r, p] = [numberOf(custom.cost ?? 16_384), numberOf(custom.blockSize ?? 8), numberOf(custom.parallelization ?? 1)]
  if (!Number.isInteger(Math.log2(N))) throw new UnusableHash('its cost should be a power of two')
  return `$scrypt$ln=${Math.log2(N)},r=${r},p=${p}$${salt.toString('base64')}$${key.toString('base64')}`
}

function decode(part: 'hash' | 'salt', given: unknown): Buffer {
  const { value, encoding }: Encoded = objectOf(given)
  const found = ENCODINGS[part].find((name) => name === (encoding ?? 'utf8'))
  if (found === undefined) throw new UnusableHash(`its ${part}.encoding should be ${ENCODINGS[part].join(' or ')}`)
  if (typeof value !== 'string' || !SHAPES[found].test(value)) throw new UnusableHash(`its ${part}.value should be ${found}`)
  return Buffer.from(value, found)
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN
}
