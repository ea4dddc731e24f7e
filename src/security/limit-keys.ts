import { createHmac } from 'node:crypto'
import { deriveKeys, type Secrets } from './derived-keys.ts'

const HASH_CHARACTERS = 32

/** Names what is counted, so that neither the database nor a copy of it contains an address. */
export type LimitKeys = (...parts: readonly string[]) => string

/** The key is derived from SECRET_KEY: without it, nobody can find out by trying whether an address was counted. */
export function createLimitKeys(secrets: Secrets): LimitKeys {
  const [key] = deriveKeys(secrets, 'rate-limits')
  return (...parts) => createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url').slice(0, HASH_CHARACTERS)
}
