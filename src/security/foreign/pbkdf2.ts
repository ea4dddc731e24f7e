import { pbkdf2, timingSafeEqual } from 'node:crypto'
import { checkParts, type ForeignHash, fromBase64, requireWithin } from './foreign-hash.ts'

// passlib leaves the name of SHA-1 out, and writes the iterations alone.
const PASSLIB = /^\$pbkdf2(-sha1|-sha256|-sha512)?\$(\d+)\$([^$]+)\$([^$]+)$/
const PHC = /^\$pbkdf2(-sha1|-sha256|-sha512)?\$i=(\d+)(?:,l=\d+)?\$([^$]+)\$([^$]+)$/
const DJANGO = /^pbkdf2_(sha1|sha256|sha512)\$(\d+)\$([^$]+)\$([^$]+)$/
const FAMILY = /^pbkdf2-(sha1|sha256|sha512)$/
const BLOCK_BYTES = { sha1: 20, sha256: 32, sha512: 64 } as const
/** Iterations times blocks. About a second on one core. */
const MAX_WORK: Readonly<Record<Digest, number>> = { sha1: 4_000_000, sha256: 4_000_000, sha512: 1_500_000 }
const SALT = Buffer.alloc(16)

type Digest = keyof typeof BLOCK_BYTES

export function parsePbkdf2(text: string): ForeignHash | undefined {
  const [, named, iterations, salt = '', key = ''] = PASSLIB.exec(text) ?? PHC.exec(text) ?? []
  if (iterations !== undefined) return hashOf(digestOf(named?.slice(1)), iterations, fromBase64(salt), fromBase64(key))
  const [, digest, rounds, plainSalt = '', djangoKey = ''] = DJANGO.exec(text) ?? []
  return rounds === undefined ? undefined : hashOf(digestOf(digest), rounds, Buffer.from(plainSalt), fromBase64(djangoKey))
}

/** A number of iterations, where 1 is the most that is accepted. Undefined for another algorithm. */
export function pbkdf2Share(family: string, iterations: number): number | undefined {
  const [, digest] = FAMILY.exec(family) ?? []
  return digest === undefined ? undefined : iterations / MAX_WORK[digestOf(digest)]
}

/** Spends a number of iterations. Returns false for another family. */
export async function spendPbkdf2(password: string, family: string, iterations: number): Promise<boolean> {
  const [, digest] = FAMILY.exec(family) ?? []
  if (digest === undefined) return false
  if (iterations > 0) await derive(digestOf(digest), password, SALT, iterations, BLOCK_BYTES[digestOf(digest)])
  return true
}

function hashOf(digest: Digest, iterationsText: string, salt: Buffer, key: Buffer): ForeignHash {
  checkParts(salt, key)
  const iterations = requireWithin('number of iterations', Number(iterationsText), 1, MAX_WORK[digest])
  // A key that is longer than one block costs all iterations again for each further block.
  const amount = requireWithin('number of iterations', iterations * Math.ceil(key.length / BLOCK_BYTES[digest]), 1, MAX_WORK[digest])
  return {
    cost: { family: `pbkdf2-${digest}`, amount },
    matches: async (password) => timingSafeEqual(await derive(digest, password, salt, iterations, key.length), key),
  }
}

function digestOf(name: string | undefined): Digest {
  return name === 'sha256' || name === 'sha512' ? name : 'sha1'
}

function derive(digest: Digest, password: string, salt: Buffer, iterations: number, length: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    pbkdf2(password, salt, iterations, length, digest, (error, key) => (error ? reject(error) : resolve(key)))
  })
}
