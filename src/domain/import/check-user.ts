import { UnusableHash } from '../../security/foreign/foreign-hash.ts'
import { kindOf } from '../../security/foreign/kinds.ts'
import type { ForeignKinds } from '../../security/foreign/login-work.ts'
import { parseForeignHash } from '../../security/foreign/parse-hash.ts'
import { isNativeHash, NO_PASSWORD } from '../../security/password.ts'
import { emailKey, parseEmail } from '../values/email.ts'
import { isPassword } from '../values/limits.ts'
import { PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH } from '../values/text.ts'
import { checkKeys } from './check-key.ts'
import { checkBoolean, checkChoice, checkId, checkNameField, checkText, checkTime } from './field-checks.ts'
import type { UserFields } from './fields.ts'
import { type ImportedUser, Rejected } from './imported-user.ts'

export type CheckOptions = {
  /** Imports a user without a password if its hash cannot be taken over. */
  readonly withoutPasswords: boolean
  /** The kinds of foreign hashes that are accepted. Missing while the users of each kind are counted, before the import. */
  readonly foreignKinds?: ForeignKinds
}

/**
 * Checks a user in the format of `latchkey user export`. In place of a hash, it may have the reason why there is none that can be taken over.
 * Throws Rejected with the reason.
 */
export function checkUser(record: UserFields, line: number, options: CheckOptions): ImportedUser {
  const email = checkEmail(record.email)
  return {
    line,
    id: checkId('id', record.id),
    email,
    emailKey: emailKey(email),
    firstName: checkNameField('first_name', record.first_name),
    lastName: checkNameField('last_name', record.last_name),
    role: checkChoice('role', record.role, ['user', 'admin']),
    verified: checkBoolean('verified', record.verified),
    banned: checkBoolean('banned', record.banned),
    createdAt: checkTime('created_at', record.created_at),
    lastLoginAt: checkTime('last_login_at', record.last_login_at),
    ...checkSecret(record, options),
    keys: checkKeys(record.keys),
  }
}

function checkEmail(value: unknown): string {
  const text = checkText('email', value)
  if (text === undefined) throw new Rejected('email: is missing')
  const email = parseEmail(text)
  if (email === undefined) throw new Rejected('email: should be an e-mail address')
  return email
}

type Secret = Pick<ImportedUser, 'password' | 'passwordHash' | 'foreignKind'>

const NO_SECRET: Secret = { password: undefined, passwordHash: undefined, foreignKind: undefined }

function checkSecret(record: UserFields, options: CheckOptions): Secret {
  const password = checkText('password', record.password)
  const given = record.password_hash
  const passwordHash = given instanceof UnusableHash ? given : checkText('password_hash', given)
  if (password !== undefined && passwordHash !== undefined) throw new Rejected('password, password_hash: only one of them may be given')
  if (password !== undefined) {
    if (isPassword(password)) return { ...NO_SECRET, password }
    if (options.withoutPasswords) return NO_SECRET
    throw new Rejected(`password: should be ${PASSWORD_MIN_LENGTH} to ${PASSWORD_MAX_LENGTH} characters`)
  }
  const isNone = passwordHash === undefined || (typeof passwordHash === 'string' && passwordHash.startsWith(NO_PASSWORD))
  return isNone ? NO_SECRET : checkHash(passwordHash, options)
}

function checkHash(passwordHash: string | UnusableHash, { withoutPasswords, foreignKinds }: CheckOptions): Secret {
  try {
    if (passwordHash instanceof UnusableHash) throw passwordHash
    // The parameters of a hash that the service could have made itself are checked too: it may be damaged.
    const { cost } = parseForeignHash(passwordHash)
    if (isNativeHash(passwordHash)) return { ...NO_SECRET, passwordHash }
    const foreignKind = kindOf(cost)
    const reason = foreignKinds?.add(foreignKind)
    if (reason !== undefined) throw new UnusableHash(reason)
    return { ...NO_SECRET, passwordHash, foreignKind }
  } catch (error) {
    if (!(error instanceof UnusableHash)) throw error
    if (withoutPasswords) return NO_SECRET
    throw new Rejected(`password_hash: ${error.message}; --without-passwords imports the user for a reset by mail`)
  }
}
