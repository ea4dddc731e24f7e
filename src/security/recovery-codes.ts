import { randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { base32 } from './totp.ts'

const COUNT = 10
const LETTERS = 10
const SALT_BYTES = 16
const HASH_BYTES = 32
// A code has fifty random bits: enough against guesses here, too few for a fast hash in a stolen database. With 10 ms and 4 MB for each
// guess, one code takes millions of years of one core.
const COST = { N: 2 ** 12, r: 8, p: 1 }
const derive = promisify<string, string, number, typeof COST, Buffer>(scrypt)

export type NewRecoveryCodes = {
  /** For their owner, such as `abcde-fghij`. They are never shown again. */
  readonly codes: readonly string[]
  readonly salt: string
  readonly hashes: readonly string[]
}

export async function generateRecoveryCodes(): Promise<NewRecoveryCodes> {
  const salt = randomBytes(SALT_BYTES).toString('base64url')
  const codes = Array.from({ length: COUNT }, () => base32(randomBytes(SALT_BYTES)).slice(0, LETTERS).toLowerCase())
  const hashes: string[] = []
  // One at a time, so that no other work waits for a thread.
  for (const code of codes) hashes.push(await hashOf(code, salt))
  return { codes: codes.map((code) => `${code.slice(0, LETTERS / 2)}-${code.slice(LETTERS / 2)}`), salt, hashes }
}

/** The hash of a code as somebody types it; undefined if it is none by its shape. */
export async function hashRecoveryCode(typed: string, salt: string): Promise<string | undefined> {
  const code = typed.trim().replace('-', '').toLowerCase()
  return /^[a-z2-7]{10}$/.test(code) ? hashOf(code, salt) : undefined
}

async function hashOf(code: string, salt: string): Promise<string> {
  return (await derive(code, salt, HASH_BYTES, COST)).toString('base64url')
}
