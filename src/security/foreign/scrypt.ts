import { createCipheriv, scrypt, timingSafeEqual } from 'node:crypto'
import { checkParts, type ForeignHash, fromBase64, requireWithin, UnusableHash } from './foreign-hash.ts'

type Cost = { readonly N: number; readonly r: number; readonly p: number }

const PHC = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/
const DJANGO = /^scrypt\$(\d+)\$([^$]+)\$(\d+)\$(\d+)\$([^$]+)$/
const BETTER_AUTH = /^([0-9a-f]{32}):([0-9a-f]{128})$/
const BETTER_AUTH_COST = { N: 16_384, r: 16, p: 1 }
// The form in which Supabase keeps hashes of Firebase: with the parameters of the project, `ss` its salt separator and `sk` its signer key.
const FIREBASE = /^\$fbscrypt\$v=1,n=(\d+),r=(\d+),p=(\d+)(?:,ss=([^,$]*))?(?:,sk=([^,$]+))\$([^$]+)\$([^$]+)$/
const FIREBASE_KEY_BYTES = 32
const NO_IV = Buffer.alloc(16)
const FAMILY = /^scrypt (\d+) (\d+) (\d+)$/
const MAX_LOG_N = 20
const MAX_MEMORY_BYTES = 256 * 1024 * 1024
/** N · r · p. About a second on one core. */
const MAX_WORK = 2 ** 21

export function parseScrypt(text: string): ForeignHash | undefined {
  return parsePhc(text) ?? parseDjango(text) ?? parseBetterAuth(text) ?? parseFirebase(text)
}

/** The work of a family, where 1 is the most that is accepted. Undefined for another algorithm. */
export function scryptShare(family: string): number | undefined {
  const [, N, r, p] = FAMILY.exec(family) ?? []
  return N === undefined ? undefined : (Number(N) * Number(r) * Number(p)) / MAX_WORK
}

/** Computes one hash of the cost that the name of a family contains. Returns false for another family. */
export async function spendScrypt(password: string, family: string): Promise<boolean> {
  const [, N, r, p] = FAMILY.exec(family) ?? []
  if (N === undefined) return false
  await derive(password, NO_IV, FIREBASE_KEY_BYTES, { N: Number(N), r: Number(r), p: Number(p) })
  return true
}

function parsePhc(text: string): ForeignHash | undefined {
  const [, logN, r, p, salt = '', key = ''] = PHC.exec(text) ?? []
  return logN === undefined ? undefined : plain(fromBase64(salt), fromBase64(key), checkCost(2 ** checkLog(logN), r, p))
}

function parseDjango(text: string): ForeignHash | undefined {
  const [, N, salt = '', r, p, key = ''] = DJANGO.exec(text) ?? []
  return N === undefined ? undefined : plain(Buffer.from(salt), fromBase64(key), checkCost(Number(N), r, p))
}

function parseBetterAuth(text: string): ForeignHash | undefined {
  const [, salt, key = ''] = BETTER_AUTH.exec(text) ?? []
  if (salt === undefined) return undefined
  // The salt is the hexadecimal text itself.
  const hash = plain(Buffer.from(salt), Buffer.from(key, 'hex'), BETTER_AUTH_COST)
  return { ...hash, matches: (password) => hash.matches(password.normalize('NFKC')) }
}

/** Firebase encrypts the key of its project with the derived key, and stores the result. */
function parseFirebase(text: string): ForeignHash | undefined {
  const [, logN, r, p, separator = '', signerKey = '', salt = '', key = ''] = FIREBASE.exec(text) ?? []
  if (logN === undefined) return undefined
  const cost = checkCost(2 ** checkLog(logN), r, p)
  const [wholeSalt, signer, expected] = [Buffer.concat([fromBase64(salt), fromBase64(separator)]), fromBase64(signerKey), fromBase64(key)]
  checkParts(wholeSalt, expected)
  return {
    cost: { family: familyOf(cost), amount: 1 },
    async matches(password) {
      const cipher = createCipheriv('aes-256-ctr', await derive(password, wholeSalt, FIREBASE_KEY_BYTES, cost), NO_IV)
      return equal(Buffer.concat([cipher.update(signer), cipher.final()]), expected)
    },
  }
}

function plain(salt: Buffer, key: Buffer, cost: Cost): ForeignHash {
  checkParts(salt, key)
  return {
    cost: { family: familyOf(cost), amount: 1 },
    matches: async (password) => equal(await derive(password, salt, key.length, cost), key),
  }
}

function checkLog(logN: string): number {
  return requireWithin('logarithm of N', Number(logN), 1, MAX_LOG_N)
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

function familyOf({ N, r, p }: Cost): string {
  return `scrypt ${N} ${r} ${p}`
}

function derive(password: string, salt: Buffer, length: number, cost: Cost): Promise<Buffer> {
  const maxmem = 2 * MAX_MEMORY_BYTES
  return new Promise((resolve, reject) => {
    scrypt(password, salt, length, { ...cost, maxmem }, (error, key) => (error ? reject(error) : resolve(key)))
  })
}

function equal(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
