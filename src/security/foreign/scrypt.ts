import { createCipheriv, type ScryptOptions, scrypt as scryptOf, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { type Algorithm, checkParts, type ForeignHash, fromBase64, requireWithin, UnusableHash } from './foreign-hash.ts'

type Cost = { readonly N: number; readonly r: number; readonly p: number }

const PHC = /^\$scrypt\$ln=(?<logN>\d+),r=(?<r>\d+),p=(?<p>\d+)\$(?<salt>[^$]+)\$(?<key>[^$]+)$/
const DJANGO = /^scrypt\$(?<N>\d+)\$(?<plainSalt>[^$]+)\$(?<r>\d+)\$(?<p>\d+)\$(?<key>[^$]+)$/
// The form in which Supabase keeps hashes of Firebase: with the parameters of the project, `ss` its salt separator and `sk` its signer key.
const FIREBASE =
  /^\$fbscrypt\$v=1,n=(?<logN>\d+),r=(?<r>\d+),p=(?<p>\d+)(?:,ss=(?<separator>[^,$]*))?,sk=(?<signerKey>[^,$]+)\$(?<salt>[^$]+)\$(?<key>[^$]+)$/
const BETTER_AUTH = /^([0-9a-f]{32}):([0-9a-f]{128})$/
const BETTER_AUTH_COST = { N: 16_384, r: 16, p: 1 }
const FIREBASE_KEY_BYTES = 32
const NO_IV = Buffer.alloc(16)
const MAX_LOG_N = 20
const MAX_MEMORY_BYTES = 256 * 1024 * 1024
/** N · r · p. About a second on one core. */
const MAX_WORK = 2 ** 21

const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scryptOf)

export const scrypt: Algorithm = {
  share: ([N, r, p]) => (N * r * p) / MAX_WORK,
  spend: (password, [N, r, p]) => derive(password, NO_IV, FIREBASE_KEY_BYTES, { N, r, p }),
}

export function parseScrypt(text: string): ForeignHash | undefined {
  const { groups } = PHC.exec(text) ?? DJANGO.exec(text) ?? FIREBASE.exec(text) ?? {}
  if (groups === undefined) return parseBetterAuth(text)
  const { logN, N, r, p, salt, plainSalt = '', separator = '', signerKey, key = '' } = groups
  const cost = checkCost(logN === undefined ? Number(N) : 2 ** requireWithin('logarithm of N', Number(logN), 1, MAX_LOG_N), r, p)
  const wholeSalt = salt === undefined ? Buffer.from(plainSalt) : Buffer.concat([fromBase64(salt), fromBase64(separator)])
  return hashOf(wholeSalt, fromBase64(key), cost, signerKey === undefined ? undefined : fromBase64(signerKey))
}

function parseBetterAuth(text: string): ForeignHash | undefined {
  const [, salt, key = ''] = BETTER_AUTH.exec(text) ?? []
  if (salt === undefined) return undefined
  // The salt is the hexadecimal text itself.
  const hash = hashOf(Buffer.from(salt), Buffer.from(key, 'hex'), BETTER_AUTH_COST)
  return { ...hash, matches: (password) => hash.matches(password.normalize('NFKC')) }
}

/** Firebase encrypts the signer key of its project with the derived key, and stores the result. */
function hashOf(salt: Buffer, key: Buffer, cost: Cost, signerKey?: Buffer): ForeignHash {
  checkParts(salt, key)
  return {
    cost: { family: `scrypt ${cost.N} ${cost.r} ${cost.p}`, amount: 1 },
    async matches(password) {
      const derived = await derive(password, salt, signerKey === undefined ? key.length : FIREBASE_KEY_BYTES, cost)
      const stored = signerKey === undefined ? derived : createCipheriv('aes-256-ctr', derived, NO_IV).update(signerKey)
      return stored.length === key.length && timingSafeEqual(stored, key)
    },
  }
}

function checkCost(N: number, rText: string | undefined, pText: string | undefined): Cost {
  const r = requireWithin('block size r', Number(rText), 1, 64)
  const p = requireWithin('parallelism p', Number(pText), 1, 64)
  if (!Number.isSafeInteger(Math.log2(N))) throw new UnusableHash('its N should be a power of two')
  // The algorithm is defined for N below 2^(16 · r).
  requireWithin('N', N, 2, 2 ** Math.min(MAX_LOG_N, 16 * r - 1))
  requireWithin('memory in bytes', 128 * N * r, 1, MAX_MEMORY_BYTES)
  requireWithin('work N · r · p', N * r * p, 1, MAX_WORK)
  return { N, r, p }
}

function derive(password: string, salt: Buffer, length: number, cost: Cost): Promise<Buffer> {
  return deriveKey(password, salt, length, { ...cost, maxmem: 2 * MAX_MEMORY_BYTES })
}
