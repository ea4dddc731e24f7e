import { randomBytes } from 'node:crypto'
import type { Answer } from './client.ts'
import { isObject, type JsonObject, Mismatch } from './expect.ts'

export const TOKEN_MAX_LENGTH = 1024
const SHAPE = /^[\w-]+\.[\w-]+\.[\w-]+$/

export function isTokenShaped(text: unknown): text is string {
  return typeof text === 'string' && SHAPE.test(text)
}

export type Decoded = { readonly header: JsonObject; readonly claims: JsonObject }

/** Reads a token. Its signature cannot be checked without the secret. */
export function decode(token: unknown, answer?: Answer): Decoded {
  if (!isTokenShaped(token))
    throw new Mismatch('a JWT: three base64url parts', typeof token === 'string' ? 'another text' : typeof token, answer)
  const [header, claims] = token.split('.').map(parsePart)
  if (!isObject(header) || !isObject(claims)) throw new Mismatch('a JWT with a header and claims in JSON', 'other parts', answer)
  return { header, claims }
}

function parsePart(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}

/** How long a token that was issued with this answer lives. Without `iat`, the clock of the service says when it was issued. */
export function lifetimeSeconds(token: unknown, answer?: Answer): number {
  const { exp, iat } = decode(token, answer).claims
  if (typeof exp !== 'number') throw new Mismatch('a token with an expiry (exp)', 'a token without', answer)
  const issuedAt = typeof iat === 'number' ? iat : (Date.parse(answer?.headers.get('date') ?? '') || Date.now()) / 1000
  return exp - issuedAt
}

const TOLERANCE_SECONDS = 60

export function expectLifetime(token: unknown, expected: number, answer?: Answer): void {
  const seconds = lifetimeSeconds(token, answer)
  if (Math.abs(seconds - expected) > TOLERANCE_SECONDS)
    throw new Mismatch(`a lifetime of ${expected} seconds`, `a lifetime of ${Math.round(seconds)} seconds`, answer)
}

export function expectAlgorithm(token: unknown, answer?: Answer): void {
  const { header } = decode(token, answer)
  if (header['alg'] !== 'HS256') throw new Mismatch('alg: HS256', `alg: ${String(header['alg'])}`, answer)
}

/** The same header and claims with a signature of another key. */
export function withOtherSignature(token: string): string {
  return `${token.slice(0, token.lastIndexOf('.'))}.${randomBytes(32).toString('base64url')}`
}

/** The same claims as an unsecured JWT, once without and once with the old signature. */
export function unsecured(token: string): string[] {
  const [, claims = '', signature = ''] = token.split('.')
  const header = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT' })).toString('base64url')
  return [`${header}.${claims}.`, `${header}.${claims}.${signature}`]
}

/** Other claims under the signature of a token. */
export function withClaims(token: string, changes: JsonObject): string {
  const [header = '', , signature = ''] = token.split('.')
  const claims = Buffer.from(JSON.stringify({ ...decode(token).claims, ...changes })).toString('base64url')
  return `${header}.${claims}.${signature}`
}

/** A text of JWT shape, of exactly this length. */
export function shapedText(length: number): string {
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'JWT' })).toString('base64url')
  const signature = randomBytes(32).toString('base64url')
  return `${header}.${'a'.repeat(length - header.length - signature.length - 2)}.${signature}`
}

/** Texts that are no JWT. */
export const MALFORMED = ['abc', 'abc.def', 'a.b.c.d', '..', 'a b.c.d', 'ä.ö.ü', 'e30.e30.!!!'] as const
