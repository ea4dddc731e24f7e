import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const PREFIX = 'lk_'
const RANDOM_BYTES = 32
const CHECKSUM_LENGTH = 6
const SHAPE = /^lk_[\w-]{43}[0-9A-Za-z]{6}$/
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A new key: a prefix that scanners recognise, 256 random bits, and a checksum that detects a mistyped key without a look-up. */
export function generateApiKey(): string {
  const body = PREFIX + randomBytes(RANDOM_BYTES).toString('base64url')
  return body + checksum(body)
}

export function isWellFormedApiKey(key: string): boolean {
  return SHAPE.test(key) && checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH)
}

/** Only the hash is stored. 256 random bits cannot be guessed, so that a fast hash without a salt is enough and can be looked up. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex')
}

function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = BASE62.charAt(rest % BASE62.length) + digits
    rest = Math.floor(rest / BASE62.length)
  }
  return digits
}
