import { createHmac, randomBytes } from 'node:crypto'
import type { TotpSecret } from '../model/factor.ts'
import { deriveKeys, fingerprints, type Secrets } from './derived-keys.ts'
import { isSame } from './same-text.ts'
import { createSealer } from './sealing.ts'

/** Codes from an app (RFC 6238): SHA-1, six digits, thirty seconds, as every app supports them. */
const SECRET_BYTES = 20
const STEP_MS = 30_000
const DIGITS = 6
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** In base32, as apps read it. */
export function generateTotpSecret(): string {
  return base32(randomBytes(SECRET_BYTES))
}

/** The address that a QR code contains. */
export function totpUri(secret: string, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${DIGITS}&period=30`
}

/** The time step of a code: the present one, or one before or after it. Undefined if it is the code of none of them. */
export function stepOf(secret: string, code: string, now: number): number | undefined {
  const present = Math.floor(now / STEP_MS)
  return [present - 1, present, present + 1].find((step) => isSame(code, codeAt(secret, step)))
}

export function codeAt(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', fromBase32(secret)).update(counter).digest()
  const offset = (digest.at(-1) ?? 0) & 15
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** RFC 4648, without padding. */
export function base32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}

export function fromBase32(text: string): Buffer {
  const bits = Array.from(text, (letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)))
}

export type TotpSealer = ReturnType<typeof createTotpSealer>

/** Encrypts the secrets of apps, so that a copy of the database without SECRET_KEY reveals none. */
export function createTotpSealer(secrets: Secrets) {
  const sealer = createSealer(deriveKeys(secrets, 'second-factor'))
  const [sealedWith, ...formerSeals] = fingerprints(secrets)
  return {
    /** The fingerprints of the former secrets. */
    formerSeals,
    sealFor: (userId: number, secret: string): Pick<TotpSecret, 'secret' | 'sealedWith'> => ({
      secret: sealer.seal(secret, String(userId)),
      sealedWith,
    }),
    /** Undefined if neither SECRET_KEY nor a former one opens it. */
    open: ({ userId, secret }: Pick<TotpSecret, 'userId' | 'secret'>): string | undefined => sealer.open(secret, String(userId))?.text,
  }
}
