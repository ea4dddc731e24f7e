import { pbkdf2 as derive, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { type Algorithm, checkParts, type ForeignHash, fromBase64, requireWithin } from './foreign-hash.ts'

// passlib leaves the name of SHA-1 out, and writes the iterations alone.
const PASSLIB = /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(\d+)\$([^$]+)\$([^$]+)$/
const PHC = /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$i=(\d+)(?:,l=\d+)?\$([^$]+)\$([^$]+)$/
const DJANGO = /^pbkdf2_(sha1|sha256|sha512)\$(\d+)\$([^$]+)\$([^$]+)$/
const BLOCK_BYTES = { sha1: 20, sha256: 32, sha512: 64 } as const
/** Iterations times blocks. About a second on one core. */
const MAX_WORK: Readonly<Record<Digest, number>> = { sha1: 4_000_000, sha256: 4_000_000, sha512: 1_500_000 }
const SALT = Buffer.alloc(16)

type Digest = keyof typeof BLOCK_BYTES

const deriveKey = promisify(derive)

export function parsePbkdf2(text: string): ForeignHash | undefined {
  const django = DJANGO.exec(text)
  const [, name, iterationsText, saltText = '', keyText = ''] = django ?? PASSLIB.exec(text) ?? PHC.exec(text) ?? []
  if (iterationsText === undefined) return undefined
  const digest = name === 'sha256' || name === 'sha512' ? name : 'sha1'
  const [salt, key] = [django === null ? fromBase64(saltText) : Buffer.from(saltText), fromBase64(keyText)]
  checkParts(salt, key)
  const iterations = requireWithin('number of iterations', Number(iterationsText), 1, MAX_WORK[digest])
  // A key that is longer than one block costs all iterations again for each further block.
  const amount = requireWithin('number of iterations', iterations * Math.ceil(key.length / BLOCK_BYTES[digest]), 1, MAX_WORK[digest])
  return {
    cost: { family: `pbkdf2-${digest}`, amount },
    matches: async (password) => timingSafeEqual(await deriveKey(password, salt, iterations, key.length, digest), key),
  }
}

/** The amount is a number of iterations. */
export function pbkdf2(digest: Digest): Algorithm {
  return {
    share: (_, iterations) => iterations / MAX_WORK[digest],
    spend: (password, _, iterations) => deriveKey(password, SALT, iterations, BLOCK_BYTES[digest], digest),
  }
}
