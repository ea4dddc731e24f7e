import { randomBytes, randomUUID } from 'node:crypto'
import { isObject, type JsonObject, without } from '../../model/entity.ts'
import { USER_DATA } from '../../model/user.ts'
import { UnusableHash } from '../../security/foreign/foreign-hash.ts'
import { kindOf, parseForeignHash } from '../../security/foreign/kinds.ts'
import type { ForeignKinds } from '../../security/foreign/login-work.ts'
import { isNativeHash, NO_PASSWORD } from '../../security/password.ts'
import { emailKey, parseEmail } from '../values/email.ts'
import { areKnownScopes, isPassword } from '../values/limits.ts'
import { LIMIT_HINT, PLAN_NAME, parseLimit } from '../values/plans.ts'
import { PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH } from '../values/text.ts'
import { checkIdentities, checkPasskeys, checkTotp } from './check-factors.ts'
import { checkFields, checkList, checkObject, checkParsed, checkShape, checkText } from './field-checks.ts'
import {
  type ImportedKey,
  type ImportedUser,
  MOVED_KEY_AND_HASH,
  MOVED_SECRET,
  MOVED_USER,
  NO_NAME,
  Rejected,
  type UserFields,
} from './imported-user.ts'

export type CheckOptions = {
  /** Imports a user without a password if its hash cannot be taken over. */
  readonly withoutPasswords: boolean
  /** The scopes that keys may have; without it, any. */
  readonly keyScopes?: readonly string[] | undefined
  /** The kinds of foreign hashes that are accepted. Missing while the users of each kind are counted, before the import. */
  readonly foreignKinds?: ForeignKinds
}

const MAX_KEYS = 1000
const MAX_RETIRING = 100
const checkEmail = checkParsed(parseEmail, 'an e-mail address')
const checkKeyHash = checkShape(/^[0-9a-f]{64}$/, '64 hexadecimal digits')

const checkUserFields = checkFields(without(MOVED_USER, 'email').fields, { plan: checkShape(PLAN_NAME, 'the name of a plan') })
const checkKeyFields = checkFields(MOVED_KEY_AND_HASH.fields, {
  id: checkShape(/^[\w-]{1,64}$/, '1 to 64 letters, digits, hyphens and underscores'),
  keyHash: checkKeyHash,
  prefix: checkShape(/^[\w-]{1,25}$/, 'the first characters of the key'),
  limit: checkParsed((text) => parseLimit(text)?.text, LIMIT_HINT),
})
const checkData = checkFields(USER_DATA.fields)
const checkSecretFields = checkFields(MOVED_SECRET.fields, { keyHash: checkKeyHash })

/**
 * Checks a user in the format of `latchkey user export`. In place of a hash, it may have the reason why there is none that can be taken over.
 * Throws Rejected with the reason.
 */
export function checkUser(record: UserFields, line: number, options: CheckOptions): ImportedUser {
  const email = checkEmail('email', record.email)
  if (email === undefined) throw new Rejected('email: is missing')
  return {
    line,
    ...checkUserFields(record),
    email,
    emailKey: emailKey(email),
    ...checkSecret(record, options),
    totpSecret: checkTotp(record.totp),
    passkeyList: checkPasskeys(record.passkeys),
    identities: checkIdentities(record.providers),
    data: checkData(checkObject('data', record.data) ?? {}, 'data.'),
    keys: checkList('keys', record.keys, MAX_KEYS).map((key, index) => checkKey(key, `keys[${index}]`, options)),
  }
}

function checkKey(value: unknown, name: string, { keyScopes }: CheckOptions): ImportedKey {
  if (!isObject(value)) throw new Rejected(`${name}: should be an object`)
  const key = checkKeyFields(value, `${name}.`)
  if (!areKnownScopes(key.scopes ?? [], keyScopes)) throw new Rejected(`${name}.scopes: each should be one of KEY_SCOPES`)
  return {
    ...key,
    id: key.id ?? randomUUID(),
    name: key.name ?? NO_NAME,
    scopes: key.scopes ?? [],
    access: key.access ?? 'full',
    isActive: key.isActive ?? true,
    // An export without hashes has none: the key keeps its id and its scopes, and works again after a rotation.
    keyHash: key.keyHash ?? randomBytes(32).toString('hex'),
    retiringSecrets: checkRetiring(value, `${name}.retiring_secrets`),
  }
}

function checkRetiring({ retiring_secrets }: JsonObject, name: string): ImportedKey['retiringSecrets'] {
  return checkList(name, retiring_secrets, MAX_RETIRING).map((secret) => {
    const { keyHash, retiredAt, expiresAt } = checkSecretFields(isObject(secret) ? secret : {}, `${name}.`)
    if (keyHash === undefined || retiredAt === undefined || expiresAt === undefined)
      throw new Rejected(`${name}: each needs key_hash, retired_at and expires_at`)
    return { keyHash, retiredAt, expiresAt }
  })
}

type Secret = Pick<ImportedUser, 'password' | 'passwordHash' | 'foreignKind'>

function checkSecret(record: UserFields, options: CheckOptions): Secret {
  const password = checkText('password', record.password)
  const given = record.password_hash
  const passwordHash = given instanceof UnusableHash ? given : checkText('password_hash', given)
  if (password !== undefined && passwordHash !== undefined) throw new Rejected('password, password_hash: only one of them may be given')
  if (password !== undefined) {
    if (isPassword(password)) return { password }
    if (options.withoutPasswords) return {}
    throw new Rejected(`password: should be ${PASSWORD_MIN_LENGTH} to ${PASSWORD_MAX_LENGTH} characters`)
  }
  const isNone = passwordHash === undefined || (typeof passwordHash === 'string' && passwordHash.startsWith(NO_PASSWORD))
  return isNone ? {} : checkHash(passwordHash, options)
}

function checkHash(passwordHash: string | UnusableHash, { withoutPasswords, foreignKinds }: CheckOptions): Secret {
  try {
    if (passwordHash instanceof UnusableHash) throw passwordHash
    // The parameters of a hash that the service could have made itself are checked too: it may be damaged.
    const { cost } = parseForeignHash(passwordHash)
    if (isNativeHash(passwordHash)) return { passwordHash }
    const foreignKind = kindOf(cost)
    const reason = foreignKinds?.add(foreignKind)
    if (reason !== undefined) throw new UnusableHash(reason)
    return { passwordHash, foreignKind }
  } catch (error) {
    if (!(error instanceof UnusableHash)) throw error
    if (withoutPasswords) return {}
    throw new Rejected(`password_hash: ${error.message}; --without-passwords imports the user for a reset by mail`)
  }
}
