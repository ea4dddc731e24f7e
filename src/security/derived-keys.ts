import { createHmac, hkdfSync } from 'node:crypto'

/** The secrets of the service: the current one, and former ones that stay valid during a rotation (docs/decisions/0011-secret-rotation.md). */
export type Secrets = readonly [current: Uint8Array, ...fallbacks: Uint8Array[]]

/** Keys of the same purpose, in the order of the secrets: the first one signs and encrypts, the others only verify and decrypt. */
export type DerivedKeys = readonly [current: Buffer, ...fallbacks: Buffer[]]

/** What keys are derived for. Keys of different purposes have nothing in common. */
type Purpose =
  | 'signing-keys'
  | 'audit-seals'
  | 'fingerprint'
  | 'rate-limits'
  | 'page-secrets'
  | 'second-factor'
  | 'challenges'
  | 'mail-codes'

const KEY_BYTES = 32

/** The only place where keys are derived from SECRET_KEY and its fallbacks (HKDF with SHA-256). */
export function deriveKeys([current, ...fallbacks]: Secrets, purpose: Purpose): DerivedKeys {
  return [deriveKey(current, purpose), ...fallbacks.map((secret) => deriveKey(secret, purpose))]
}

/** Names each secret without revealing anything about it, so that the database can say which secrets are in use. */
export function fingerprints(secrets: Secrets): readonly [current: string, ...fallbacks: string[]] {
  const [current, ...fallbacks] = deriveKeys(secrets, 'fingerprint')
  return [fingerprintOf(current), ...fallbacks.map(fingerprintOf)]
}

function deriveKey(secret: Uint8Array, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `latchkey ${purpose}`, KEY_BYTES))
}

function fingerprintOf(key: Buffer): string {
  return key.toString('base64url').slice(0, 22)
}

const HASH_CHARACTERS = 32

/** Names what is counted, so that neither the database nor a copy of it contains an address. */
export type LimitKeys = (...parts: readonly string[]) => string

/** The key is derived from SECRET_KEY: without it, nobody can find out by trying whether an address was counted. */
export function createLimitKeys(secrets: Secrets): LimitKeys {
  const [key] = deriveKeys(secrets, 'rate-limits')
  return (...parts) => createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url').slice(0, HASH_CHARACTERS)
}
