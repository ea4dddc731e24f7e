import { parseArgon2 } from './argon2.ts'
import { parseBcrypt } from './bcrypt.ts'
import { type ForeignHash, requireLength, UnusableHash } from './foreign-hash.ts'
import { parsePbkdf2 } from './pbkdf2.ts'
import { parseScrypt } from './scrypt.ts'

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
  requireLength(text)
  const found = parseArgon2(text) ?? parseBcrypt(text) ?? parseScrypt(text) ?? parsePbkdf2(text)
  if (found !== undefined) return found
  const weak = Object.entries(WEAK).find(([, shape]) => shape.test(text))
  throw new UnusableHash(weak === undefined ? 'it is of an unknown kind, or damaged' : `${weak[0]} is too weak to take over`)
}
