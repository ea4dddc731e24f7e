import { refusal } from '../error.ts'
import { type Fetch, withoutSlash } from '../http.ts'
import { bytesOf, parsePart } from '../jwt.ts'
import { headerOf, type OfflineIdentity, type Requirement, scopeText, type Verifier } from './identity.ts'
import { createKeySet } from './key-set.ts'

// More than Node.js accepts as headers.
const MAX_LENGTH = 16_384
const LAST_DATE_SECONDS = 8.64e12

export type OfflineVerifierOptions = {
  /** The URL of Latchkey, as this service reaches it. */
  readonly url: string
  /** The name of this service: the `audience` that tokens for it were requested with. */
  readonly audience: string
  /** The `BASE_URL` of Latchkey, if this service reaches it at another URL. */
  readonly issuer?: string | undefined
  readonly fetch?: Fetch | undefined
  /** The time in milliseconds, for tests. */
  readonly now?: (() => number) | undefined
}

/**
 * Verifies tokens of `POST /auth/token` with the public keys of Latchkey, without asking about each request. A ban or a logout is felt
 * when the token expires.
 */
export function createOfflineVerifier(options: OfflineVerifierOptions): Verifier<OfflineIdentity> {
  const { url, audience, issuer = url, fetch = globalThis.fetch, now = Date.now } = options
  // Without a name, tokens for every service would be accepted.
  if (!audience) throw new TypeError('An offline verifier needs an audience')
  const expected = { iss: withoutSlash(issuer), aud: audience }
  const keySet = createKeySet(`${withoutSlash(url)}/.well-known/jwks.json`, fetch, now)

  /** The claims of a token with a good signature. */
  async function read(token: string): Promise<Readonly<Record<string, unknown>>> {
    if (token.length > MAX_LENGTH || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw refusal('token_invalid')
    const [header, payload, signature] = token.split('.')
    // The token says which key, and never which algorithm.
    const { alg, typ, kid, crit } = parsed(header)
    if (alg !== 'ES256' || typ !== 'at+jwt' || crit !== undefined || typeof kid !== 'string') throw refusal('token_invalid')
    const key = await keySet.find(kid)
    if (key === undefined) throw refusal('token_invalid')
    const signed = new TextEncoder().encode(`${header}.${payload}`)
    const isGenuine = await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, decoded(signature), signed)
    if (!isGenuine) throw refusal('token_invalid')
    return parsed(payload)
  }

  return {
    async verify(headers, requirement = {}) {
      if (requirement.data) throw refusal('unavailable', new TypeError('A token carries no data'))
      const [, token] = /^bearer +(\S+)$/i.exec(headerOf(headers, 'authorization') ?? '') ?? []
      if (token === undefined) throw refusal('not_authenticated')
      const claims = await read(token)
      const { iss, aud, exp } = claims
      if (iss !== expected.iss || aud !== expected.aud) throw refusal('token_invalid')
      if (typeof exp !== 'number' || exp > LAST_DATE_SECONDS) throw refusal('token_invalid')
      if (now() >= exp * 1000) throw refusal('token_expired')
      const identity = identityOf(claims, exp)
      requirePermission(identity, requirement)
      return identity
    },
  }
}

const parsed = orInvalid(parsePart)
const decoded = orInvalid((part) => bytesOf(part ?? ''))

/** The same function for parts of tokens that anybody may have sent. */
function orInvalid<Value>(read: (part: string | undefined) => Value): typeof read {
  return (part) => {
    try {
      return read(part)
    } catch {
      throw refusal('token_invalid')
    }
  }
}

function identityOf(claims: Readonly<Record<string, unknown>>, exp: number): OfflineIdentity {
  const { sub, email, role, method, scope = '' } = claims
  if (typeof sub !== 'string' || !/^\d+$/.test(sub) || typeof email !== 'string' || typeof scope !== 'string')
    throw refusal('token_invalid')
  if (role !== 'user' && role !== 'admin') throw refusal('token_invalid')
  if (method !== 'session' && method !== 'api_key') throw refusal('token_invalid')
  const scopes = method === 'session' ? null : wordsOf(scope)
  return { userId: Number(sub), email, role, method, scopes, expiresAt: new Date(exp * 1000).toISOString() }
}

/** The rules of the service: a session satisfies every scope, a key only those that it carries. */
function requirePermission({ role, scopes }: OfflineIdentity, requirement: Requirement): void {
  // No caller passes a rule that cannot be checked here.
  if (requirement.secondFactor) throw refusal('unavailable', new TypeError('A token does not say whether there is a second factor'))
  const required = wordsOf(scopeText(requirement.scope) ?? '')
  const isPermitted =
    (requirement.role === undefined || role === requirement.role) && (scopes === null || required.every((scope) => scopes.includes(scope)))
  if (!isPermitted) throw refusal('not_permitted')
}

function wordsOf(text: string): string[] {
  return text.split(' ').filter((word) => word !== '')
}
