import { createHmac, createSecretKey } from 'node:crypto'
import { createVerifier } from 'fast-jwt'
import { Refusal } from '../model/refusal.ts'

export type TokenKind = 'access' | 'refresh' | 'verify' | 'reset'

/** What a token says. Who it names, and whether it still counts, is for the database to tell. */
export type Claims = {
  readonly userId: number
  /** Access and refresh tokens: the session that they end with. */
  readonly sessionId: string | undefined
  /** Verify and reset tokens: the state of the account that they end with. */
  readonly version: number | undefined
}

export type Tokens = {
  forSession(kind: 'access' | 'refresh', userId: number, sessionId: string): string
  forMail(kind: 'verify' | 'reset', userId: number, version: number): string
  /** Throws `token_invalid` or `token_expired`. */
  read(token: string, kind: TokenKind): Claims
}

export const LIFETIME_MINUTES: Readonly<Record<TokenKind, number>> = { access: 120, refresh: 30 * 24 * 60, verify: 24 * 60, reset: 30 }

const MAX_LENGTH = 1024
const SHAPE = /^[\w-]+\.[\w-]+\.[\w-]+$/
const SESSION_ID = /^[\w-]{1,64}$/
const USER_ID = /^[1-9]\d{0,14}$/
// A session's token comes back with every request; checking its signature costs as much as all the rest of the request.
const REMEMBERED_TOKENS = 10_000

const HEADER = encode({ alg: 'HS256', typ: 'JWT' })

type ReadToken = { readonly kind: string; readonly expiresAtS: number; readonly claims: Claims }

/** Three base64url parts, 1024 characters at most: what can be said of a token without its key. */
export function isTokenShaped(text: string): boolean {
  return text.length <= MAX_LENGTH && SHAPE.test(text)
}

export function createTokens(secret: Uint8Array, now: () => number): Tokens {
  const key = Buffer.from(secret)
  const signingKey = createSecretKey(key)
  // Expiry is checked here, not there: after the type, on our clock, and again each time a token is remembered.
  const verify = createVerifier({ key, algorithms: ['HS256'], complete: true, ignoreExpiration: true, ignoreNotBefore: true })
  const remembered = new Map<string, ReadToken>()

  function issue(kind: TokenKind, userId: number, binding: object): string {
    const issuedAtS = Math.floor(now() / 1000)
    return sign({ sub: String(userId), typ: kind, ...binding, iat: issuedAtS, exp: issuedAtS + LIFETIME_MINUTES[kind] * 60 })
  }

  function sign(claims: object): string {
    const signed = `${HEADER}.${encode(claims)}`
    return `${signed}.${createHmac('sha256', signingKey).update(signed).digest('base64url')}`
  }

  function check(token: string): ReadToken {
    // Length and shape come before the signature, so that a huge string costs nothing (spec 2.3 rule 4).
    if (!isTokenShaped(token)) throw new Refusal('token_invalid', 'length or shape')
    return parse(verified(token))
  }

  function verified(token: string): { header: Record<string, unknown>; payload: Record<string, unknown> } {
    try {
      return verify(token)
    } catch {
      throw new Refusal('token_invalid', 'signature or encoding')
    }
  }

  return {
    forSession: (kind, userId, sessionId) => issue(kind, userId, { sid: sessionId }),
    forMail: (kind, userId, version) => issue(kind, userId, { ver: version }),
    read(token, kind) {
      let found = remembered.get(token)
      if (found === undefined) {
        found = check(token)
        if (remembered.size >= REMEMBERED_TOKENS) remembered.clear()
        remembered.set(token, found)
      }
      if (found.kind !== kind) throw new Refusal('token_invalid', `typ is not ${kind}`)
      if (now() >= found.expiresAtS * 1000) throw new Refusal('token_expired')
      return found.claims
    },
  }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function parse({ header, payload }: { header: Record<string, unknown>; payload: Record<string, unknown> }): ReadToken {
  const { typ, sub, exp, sid, ver } = payload as { typ?: unknown; sub?: unknown; exp?: unknown; sid?: unknown; ver?: unknown }
  // An extension that a token calls critical has to be understood, and none is (RFC 7515, 4.1.11).
  if ('crit' in header) throw new Refusal('token_invalid', 'crit')
  if (typeof typ !== 'string') throw new Refusal('token_invalid', 'typ is missing')
  if (typeof exp !== 'number' || !Number.isFinite(exp)) throw new Refusal('token_invalid', 'exp is missing')
  if ((typeof sub !== 'string' && typeof sub !== 'number') || !USER_ID.test(String(sub)))
    throw new Refusal('token_invalid', 'sub is not an id')
  const claims = {
    userId: Number(sub),
    sessionId: typeof sid === 'string' && SESSION_ID.test(sid) ? sid : undefined,
    version: typeof ver === 'number' ? ver : undefined,
  }
  return { kind: typ, expiresAtS: exp, claims }
}
