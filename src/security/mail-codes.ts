import { createHmac } from 'node:crypto'
import { deriveKeys, type Secrets } from './derived-keys.ts'
import { isSame } from './same-text.ts'

const DIGITS = 8

/**
 * The codes of sign-in mails. A code derives from the account, the version of its mail and SECRET_KEY, so that neither the outbox nor any
 * other table contains it, and every attempt to send a mail has the same one.
 */
export function createMailCodes(secrets: Secrets) {
  const keys = deriveKeys(secrets, 'mail-codes')

  function derive(key: Buffer, userId: number, version: number): string {
    const number = createHmac('sha256', key).update(`${userId} ${version}`).digest().readBigUInt64BE()
    return String(number % 10n ** BigInt(DIGITS)).padStart(DIGITS, '0')
  }

  return {
    codeOf: (userId: number, version: number) => derive(keys[0], userId, version),
    /** Compares a code as somebody types it, perhaps with spaces. */
    isCodeOf(typed: string, userId: number, version: number): boolean {
      const given = typed.replace(/\s/g, '')
      return keys.map((key) => isSame(given, derive(key, userId, version))).includes(true)
    },
  }
}
