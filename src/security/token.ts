import { createSigner, createVerifier } from 'fast-jwt'
import { Refusal } from '../model/refusal.ts'
import type { Secrets } from './derived-keys.ts'
import { createMailCodes } from './mail-codes.ts'

/** Tokens that only a mail carries. */
type MailTokenKind = 'verify' | 'reset' | 'email_change' | 'sign_in' | 'invitation'
/** `page` is the content of the cookie of the web pages: no API route accepts it. */
export type TokenKind = 'access' | 'refresh' | 'page' | MailTokenKind

/** The content of a valid token. Whether its account, session or version still exists is for the database to say. */
export type Claims = {
  /** In the link of an invitation, which has no account yet, the id of the invitation. */
  readonly userId: number
  /** Access, refresh and page tokens end with their session. */
  readonly sessionId: string | undefined
  /** Mailed tokens end when the account has another version. */
  readonly version: number | undefined
  /** In milliseconds. */
  readonly expiresAt: number
  readonly issuedAt: number | undefined
}

export type Tokens = ReturnType<typeof createTokens>

export const LIFETIME_MINUTES: Readonly<Record<TokenKind, number>> = {
  access: 120,
  refresh: 30 * 24 * 60,
  page: 12 * 60,
  verify: 24 * 60,
  reset: 30,
  email_change: 24 * 60,
  sign_in: 15,
  invitation: 7 * 24 * 60,
}

const MAX_LENGTH = 1024
const SHAPE = /^[\w-]+\.[\w-]+\.[\w-]+$/
const SESSION_ID = /^[\w-]{1,64}$/
const USER_ID = /^[1-9]\d{0,14}$/
// A session presents the same token with every request. The cache of fast-jwt hashes the token on each look-up, which costs a
// quarter of such a request (docs/decisions/0009-tokens.md).
const MAX_REMEMBERED = 10_000

type VerifiedToken = { readonly kind: string; readonly claims: Claims }

/** Three base64url parts, 1024 characters at most: all that can be checked without the key. */
export function isTokenShaped(text: string): boolean {
  return text.length <= MAX_LENGTH && SHAPE.test(text)
}

/** Signs with the current secret, and accepts tokens that it or one of the fallbacks has signed. */
export function createTokens(secrets: Secrets, now: () => number) {
  const sign = createSigner({ key: Buffer.from(secrets[0]), algorithm: 'HS256' })
  const verifiers = secrets.map(createSignatureVerifier)
  const remembered = new Map<string, VerifiedToken>()

  function issue(kind: TokenKind, userId: number, binding: object): string {
    const issuedAtS = Math.floor(now() / 1000)
    return sign({ sub: String(userId), typ: kind, ...binding, iat: issuedAtS, exp: issuedAtS + LIFETIME_MINUTES[kind] * 60 })
  }

  function verify(token: string): VerifiedToken {
    // Length and shape come before the signature, so that a huge string costs nothing (spec 2.3 rule 4).
    if (!isTokenShaped(token)) throw new Refusal('token_invalid', 'length or shape')
    for (const verifySignature of verifiers) {
      const parts = verifySignature(token)
      if (parts !== undefined) return parseClaims(parts)
    }
    throw new Refusal('token_invalid', 'signature or encoding')
  }

  function verifyOnce(token: string): VerifiedToken {
    const known = remembered.get(token)
    if (known !== undefined) return known
    const verified = verify(token)
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(token, verified)
    return verified
  }

  return {
    forSession: (kind: Exclude<TokenKind, MailTokenKind>, userId: number, sessionId: string) => issue(kind, userId, { sid: sessionId }),
    /** The subject is the id of an account or, for an invitation, that of the invitation. */
    forMail: (kind: MailTokenKind, subject: number, version: number) => issue(kind, subject, { ver: version }),
    ...createMailCodes(secrets),
    /** Throws `token_invalid` or `token_expired`. */
    read(token: string, kind: TokenKind): Claims {
      const verified = verifyOnce(token)
      if (verified.kind !== kind) throw new Refusal('token_invalid', `typ is not ${kind}`)
      if (now() >= verified.claims.expiresAt) throw new Refusal('token_expired')
      return verified.claims
    },
  }
}

type SignedParts = { readonly header: Record<string, unknown>; readonly payload: Record<string, unknown> }

/** Returns undefined for a token that this secret has not signed. */
function createSignatureVerifier(secret: Uint8Array): (token: string) => SignedParts | undefined {
  // Expiry is checked in read(): after the kind, with our clock, and again whenever a remembered token is used.
  const verify = createVerifier({
    key: Buffer.from(secret),
    algorithms: ['HS256'],
    complete: true,
    ignoreExpiration: true,
    ignoreNotBefore: true,
  })
  return (token) => {
    try {
      return verify(token)
    } catch {
      return undefined
    }
  }
}

function parseClaims({ header, payload }: SignedParts): VerifiedToken {
  const { typ, sub, exp, iat, sid, ver } = payload as Record<'typ' | 'sub' | 'exp' | 'iat' | 'sid' | 'ver', unknown>
  // A critical extension must be understood, and none is (RFC 7515, 4.1.11). fast-jwt accepts `crit: null`.
  if ('crit' in header) throw new Refusal('token_invalid', 'crit')
  if (typeof typ !== 'string') throw new Refusal('token_invalid', 'typ is missing')
  if (typeof exp !== 'number' || !Number.isFinite(exp)) throw new Refusal('token_invalid', 'exp is missing')
  if ((typeof sub !== 'string' && typeof sub !== 'number') || !USER_ID.test(String(sub)))
    throw new Refusal('token_invalid', 'sub is not an id')
  const claims = {
    userId: Number(sub),
    sessionId: typeof sid === 'string' && SESSION_ID.test(sid) ? sid : undefined,
    version: typeof ver === 'number' ? ver : undefined,
    expiresAt: exp * 1000,
    issuedAt: typeof iat === 'number' ? iat * 1000 : undefined,
  }
  return { kind: typ, claims }
}
