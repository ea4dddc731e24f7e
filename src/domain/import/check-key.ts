import { randomBytes, randomUUID } from 'node:crypto'
import type { KeyAccess } from '../../model/api-key.ts'
import { isScope, MAX_SCOPES, SCOPE_MAX_LENGTH } from '../values/limits.ts'
import { checkBoolean, checkChoice, checkList, checkNameField, checkText, checkTime } from './field-checks.ts'
import type { KeyFields, RetiringSecretFields } from './fields.ts'
import { type ImportedKey, isObject, Rejected, type RetiringSecret } from './imported-user.ts'

const ACCESSES: readonly KeyAccess[] = ['full', 'read', 'identify']
const MAX_KEYS = 1000
const MAX_RETIRING = 100
const ID = /^[\w-]{1,64}$/
const KEY_HASH = /^[0-9a-f]{64}$/
const PREFIX = /^[\w-]{1,25}$/
const NO_NAME = '-'

/** Checks the API keys of a user. */
export function checkKeys(value: unknown): ImportedKey[] {
  return checkList('keys', value, MAX_KEYS).map((key, index) => {
    if (!isObject(key)) throw new Rejected(`keys[${index}]: should be an object`)
    return checkKey(key, `keys[${index}]`)
  })
}

function checkKey(key: KeyFields, name: string): ImportedKey {
  return {
    id: checkShape(`${name}.id`, key.id, ID, '1 to 64 letters, digits, hyphens and underscores') ?? randomUUID(),
    name: checkNameField(`${name}.name`, key.name) ?? NO_NAME,
    scopes: checkScopes(`${name}.scopes`, key.scopes),
    access: checkChoice(`${name}.access`, key.access, ACCESSES) ?? 'full',
    isActive: checkBoolean(`${name}.is_active`, key.is_active) ?? true,
    createdAt: checkTime(`${name}.created_at`, key.created_at),
    expiresAt: checkTime(`${name}.expires_at`, key.expires_at),
    // An export without hashes has none: the key keeps its id and its scopes, and works again after a rotation.
    keyHash: checkShape(`${name}.key_hash`, key.key_hash, KEY_HASH, '64 hexadecimal digits') ?? randomBytes(32).toString('hex'),
    prefix: checkShape(`${name}.prefix`, key.prefix, PREFIX, 'the first characters of the key'),
    lastUsedAt: checkTime(`${name}.last_used_at`, key.last_used_at),
    retiringSecrets: checkRetiring(`${name}.retiring_secrets`, key.retiring_secrets),
  }
}

function checkShape(name: string, value: unknown, shape: RegExp, description: string): string | undefined {
  const text = checkText(name, value)
  if (text !== undefined && !shape.test(text)) throw new Rejected(`${name}: should be ${description}`)
  return text
}

function checkScopes(name: string, value: unknown): string[] {
  return checkList(name, value, MAX_SCOPES).map((scope) => {
    if (typeof scope === 'string' && isScope(scope)) return scope
    throw new Rejected(`${name}: each should be 1 to ${SCOPE_MAX_LENGTH} characters without control characters`)
  })
}

function checkRetiring(name: string, value: unknown): RetiringSecret[] {
  return checkList(name, value, MAX_RETIRING).map((secret) => {
    const given: RetiringSecretFields = isObject(secret) ? secret : {}
    const keyHash = checkShape(`${name}.key_hash`, given.key_hash, KEY_HASH, '64 hexadecimal digits')
    const retiredAt = checkTime(`${name}.retired_at`, given.retired_at)
    const expiresAt = checkTime(`${name}.expires_at`, given.expires_at)
    if (keyHash === undefined || retiredAt === undefined || expiresAt === undefined)
      throw new Rejected(`${name}: each needs key_hash, retired_at and expires_at`)
    return { keyHash, retiredAt, expiresAt }
  })
}
