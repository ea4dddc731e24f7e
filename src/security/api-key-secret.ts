import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const RANDOM_BYTES = 32
const CHECKSUM_LENGTH = 6
// Keys with an earlier prefix stay valid, so any prefix will do.
const SHAPE = /^[a-z0-9]{2,16}_[\w-]{43}[0-9A-Za-z]{6}$/
const PREFIX_MAX_LENGTH = 16
const PREFIX_CHARACTER = /[a-z0-9]/
const SECRET_PART = /_(?=[\w-]{49})/g
const SECRET_PART_LENGTH = 50
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A new key: a prefix that scanners recognise, 256 random bits, and a checksum that detects a mistyped key without a look-up. */
export function generateApiKey(prefix: string): string {
  const body = `${prefix}_${randomBytes(RANDOM_BYTES).toString('base64url')}`
  return body + checksum(body)
}

export function isWellFormedApiKey(key: string): boolean {
  return SHAPE.test(key) && numberOf(key.slice(-CHECKSUM_LENGTH)) === crc32(key.slice(0, -CHECKSUM_LENGTH))
}

/** The keys in a text, recognised by their shape and their checksum, wherever they begin and end. */
export function findApiKeys(text: string): string[] {
  return [...text.matchAll(SECRET_PART)].flatMap(({ index }) => keyAround(text, index) ?? [])
}

/** The key whose prefix ends at a place. The text before it may run on without a gap, so every beginning is tried. */
function keyAround(text: string, prefixEnd: number): string | undefined {
  const end = prefixEnd + SECRET_PART_LENGTH
  const earliest = Math.max(0, prefixEnd - PREFIX_MAX_LENGTH)
  for (let start = prefixEnd - 1; start >= earliest && PREFIX_CHARACTER.test(text.charAt(start)); start--) {
    const candidate = text.slice(start, end)
    if (isWellFormedApiKey(candidate)) return candidate
  }
  return undefined
}

/** A text that may contain keys, without their secret parts. */
export function hideApiKeys(text: string): string {
  return findApiKeys(text).reduce((hidden, key) => hidden.replaceAll(key, `${key.slice(0, key.indexOf('_') + 1)}…`), text)
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

/** The number that base-62 digits stand for. */
function numberOf(digits: string): number {
  let number = 0
  for (let place = 0; place < digits.length; place++) number = number * BASE62.length + BASE62.indexOf(digits.charAt(place))
  return number
}
