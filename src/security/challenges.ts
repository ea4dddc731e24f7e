import { createHash, createHmac, randomBytes } from 'node:crypto'
import { deriveKeys, type Secrets } from './derived-keys.ts'
import { isSame } from './same-text.ts'

export type Challenges = ReturnType<typeof createChallenges>

export const CHALLENGE_LIFETIME_MS = 5 * 60_000
const RANDOM_BYTES = 16
const TIME_BYTES = 8

/**
 * Challenges for authenticators. They are signed instead of stored, so that a question costs no row: anybody may ask. What was used is
 * stored until it expires.
 */
export function createChallenges(secrets: Secrets, now: () => number) {
  const keys = deriveKeys(secrets, 'challenges')
  const macOf = (key: Buffer, content: Buffer, subject: string) => createHmac('sha256', key).update(content).update(subject).digest()
  return {
    /** The subject says what the answer is for, such as an account. It cannot be used for anything else. */
    issue(subject: string): string {
      const expiry = Buffer.alloc(TIME_BYTES)
      expiry.writeBigUInt64BE(BigInt(now() + CHALLENGE_LIFETIME_MS))
      const content = Buffer.concat([randomBytes(RANDOM_BYTES), expiry])
      return Buffer.concat([content, macOf(keys[0], content, subject)]).toString('base64url')
    },
    /** The name under which a valid challenge is stored once it was used, and when it expires. Undefined for any other text. */
    read(challenge: string, subject: string): { readonly id: string; readonly expiresAt: number } | undefined {
      const bytes = Buffer.from(challenge, 'base64url')
      const content = bytes.subarray(0, RANDOM_BYTES + TIME_BYTES)
      const mac = bytes.subarray(RANDOM_BYTES + TIME_BYTES)
      if (!keys.some((key) => isSame(mac, macOf(key, content, subject)))) return undefined
      const expiresAt = Number(content.readBigUInt64BE(RANDOM_BYTES))
      return expiresAt > now() ? { id: hashChallenge(content.toString('base64url')), expiresAt } : undefined
    },
  }
}

/** Opaque, for the second step of a login: the database has its hash. */
export function generateChallenge(): string {
  return randomBytes(32).toString('base64url')
}

export function hashChallenge(challenge: string): string {
  return createHash('sha256').update(challenge).digest('base64url')
}
