import { ARGON2_VARIANTS, argon2, parseArgon2 } from './argon2.ts'
import { bcrypt, parseBcrypt } from './bcrypt.ts'
import { type Algorithm, type FamilyParameters, type ForeignHash, type HashCost, UnusableHash } from './foreign-hash.ts'
import { parsePbkdf2, pbkdf2 } from './pbkdf2.ts'
import { parseScrypt, scrypt } from './scrypt.ts'

/** By the first word of the name of a family. */
const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map([
  ...Object.entries(ARGON2_VARIANTS).map(([name, variant]) => [name, argon2(variant)] as const),
  ['bcrypt', bcrypt],
  ['pbkdf2-sha1', pbkdf2('sha1')],
  ['pbkdf2-sha256', pbkdf2('sha256')],
  ['pbkdf2-sha512', pbkdf2('sha512')],
  ['scrypt', scrypt],
])

export function parseFamily(family: string): { readonly algorithm: string; readonly parameters: FamilyParameters } {
  const [algorithm = '', ...numbers] = family.split(' ')
  const [first = 0, second = 0, third = 0] = numbers.map(Number)
  return { algorithm, parameters: [first, second, third] }
}

// The longest that is accepted, a hash of Firebase, has about 350 characters.
const MAX_LENGTH = 1000

/** Hashes that a graphics card reverses too quickly to keep them, by their shape. */
const WEAK: Readonly<Record<string, RegExp>> = {
  md5: /^(?:md5\$|\$1\$|\$apr1\$|\{S?MD5\}|[0-9a-f]{32}$)/i,
  sha1: /^(?:sha1\$|\$sha1\$|\{S?SHA\}|[0-9a-f]{40}$)/i,
  sha256: /^(?:sha256\$|\{S?SHA256\}|[0-9a-f]{64}$)/i,
  sha512: /^(?:sha512\$|\{S?SHA512\}|[0-9a-f]{128}$)/i,
  crypt: /^(?:crypt\$|\$[56]\$|\{CRYPT\}|_?[./0-9A-Za-z]{13}$)/,
}

/** Reads a hash of another system, by its shape. Throws UnusableHash if it cannot be taken over. */
export function parseForeignHash(text: string): ForeignHash {
  if (text.length > MAX_LENGTH) throw new UnusableHash(`it is longer than ${MAX_LENGTH} characters`)
  const found = parseArgon2(text) ?? parseBcrypt(text) ?? parseScrypt(text) ?? parsePbkdf2(text)
  if (found !== undefined) return found
  const weak = Object.entries(WEAK).find(([, shape]) => shape.test(text))
  throw new UnusableHash(weak === undefined ? 'it is of an unknown kind, or damaged' : `${weak[0]} is too weak to take over`)
}

const SEPARATOR = '/'

/** Some products choose a number of iterations for each account. Rounded up to five binary digits, such numbers are a few kinds. */
const KEPT_DIGITS = 5
export const MAX_ROUNDING = 1 / 2 ** (KEPT_DIGITS - 1)

/** The kind of a hash, as it is stored beside it: its family and the amount of work, or a little more. */
export function kindOf({ family, amount }: HashCost): string {
  return family + SEPARATOR + roundedUp(amount)
}

/** The kind that is stored now in place of one that release 0.8.0 has stored, with the exact amount. */
export function roundedKind(kind: string): string {
  const cost = parseKind(kind)
  return Number.isSafeInteger(cost.amount) && cost.amount > 0 ? kindOf(cost) : kind
}

export function parseKind(kind: string): HashCost {
  const end = kind.lastIndexOf(SEPARATOR)
  return { family: kind.slice(0, end), amount: Number(kind.slice(end + 1)) }
}

/** The work of a hash, as a share of the most expensive hash that is accepted, which takes about a second. Zero if nothing computes it. */
export function shareOf({ family, amount }: HashCost): number {
  const { algorithm, parameters } = parseFamily(family)
  const share = ALGORITHMS.get(algorithm)?.share(parameters, amount) ?? 0
  return share > 0 ? share : 0
}

/** Does the work of a hash. */
export async function spend(password: string, { family, amount }: HashCost): Promise<void> {
  const { algorithm, parameters } = parseFamily(family)
  await ALGORITHMS.get(algorithm)?.spend(password, parameters, amount)
}

/** About as much as the most expensive hash that is accepted takes. */
const MAX_HASH_MS = 1000

/** How long an amount of 1 of a family takes on a slow machine, in milliseconds of one core, where it cannot be measured. */
export function estimatedUnitMs(family: string): number {
  return shareOf({ family, amount: 1 }) * MAX_HASH_MS
}

/** The cost of a hash for people, such as `bcrypt 12` or `pbkdf2-sha256 with 600000 iterations`. */
export function describeCost({ family, amount }: HashCost): string {
  const { algorithm, parameters } = parseFamily(family)
  const [first, second, third] = parameters
  if (algorithm === 'bcrypt') return `bcrypt ${Math.log2(amount)}`
  if (algorithm.startsWith('pbkdf2')) return `${algorithm} with ${amount} iterations`
  return algorithm === 'scrypt' ? `scrypt N=${first},r=${second},p=${third}` : `${algorithm} m=${first},t=${second},p=${third}`
}

function roundedUp(amount: number): number {
  const step = 2 ** Math.max(Math.floor(Math.log2(amount)) - KEPT_DIGITS + 1, 0)
  return Math.ceil(amount / step) * step
}
