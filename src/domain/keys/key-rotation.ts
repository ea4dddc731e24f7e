import type { ApiKey } from '../../model/api-key.ts'
import { Refusal } from '../../model/refusal.ts'
import { generateApiKey, hashApiKey } from '../../security/api-key-secret.ts'
import type { Transaction } from '../../storage/database.ts'
import {
  deleteOldestRetiringSecrets,
  deleteRetiringSecrets,
  findApiKey,
  findKeyHash,
  insertRetiringSecret,
  replaceSecret,
  type Secret,
} from '../../storage/repositories/keys/key.repository.ts'

/** The maximum number of former secrets of one key that still work. A rotation beyond it ends the one that was replaced first. */
export const MAX_RETIRING_SECRETS = 20
/** How many characters of a key are stored in the clear, for people to recognise it. */
const PREFIX_LENGTH = 9

export function createSecret(keyPrefix: string): Secret & { readonly secret: string } {
  const secret = generateApiKey(keyPrefix)
  return { secret, hash: hashApiKey(secret), prefix: secret.slice(0, PREFIX_LENGTH) }
}

export function hasExpired({ expiresAt }: Pick<ApiKey, 'expiresAt'>, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}

type Rotation = {
  readonly userId: number
  readonly keyId: string
  readonly overlapSeconds: number
  readonly keyPrefix: string
  readonly now: number
}

/** Replaces the secret of a key. The transaction must hold the lock of the account. */
export async function rotateKey(tx: Transaction, rotation: Rotation): Promise<ApiKey & { readonly secret: string }> {
  const { userId, keyId, overlapSeconds, keyPrefix, now } = rotation
  const key = await findApiKey(tx, userId, keyId)
  const formerHash = await findKeyHash(tx, userId, keyId)
  if (key === undefined || formerHash === undefined) throw new Refusal('key_not_found')
  const { secret, ...next } = createSecret(keyPrefix)
  await replaceSecret(tx, userId, keyId, next)
  if (overlapSeconds > 0 && key.isActive && !hasExpired(key, now)) {
    await insertRetiringSecret(tx, { keyHash: formerHash, keyId, retiredAt: now, expiresAt: now + overlapSeconds * 1000 })
    await deleteOldestRetiringSecrets(tx, keyId, MAX_RETIRING_SECRETS)
  } else {
    await deleteRetiringSecrets(tx, keyId)
  }
  const rotated = await findApiKey(tx, userId, keyId)
  if (rotated === undefined) throw new Refusal('key_not_found')
  return { ...rotated, secret }
}

/** The key with the moment at which its last former secret really ends: a secret does not outlive its key, and some have ended already. */
export function withCurrentRetirement(key: ApiKey, now: number): ApiKey {
  const { retiringUntil, expiresAt, isActive } = key
  if (retiringUntil === undefined) return key
  const endsAt = Math.min(retiringUntil, expiresAt ?? retiringUntil)
  return { ...key, retiringUntil: isActive && endsAt > now ? endsAt : undefined }
}
