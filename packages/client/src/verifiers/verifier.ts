import type { Schemas } from '../api.ts'
import { LatchkeyError, refusal } from '../error.ts'
import { bodyOf, type Fetch, reach, withoutSlash } from '../http.ts'
import { toCamel } from '../names.ts'
import { type HeaderSource, headerOf, type Identity, type Requirement, scopeText, type Verifier } from './identity.ts'

const MAX_CACHED = 1000
const TIMEOUT_MS = 3000

export type VerifierOptions = {
  /** The URL of Latchkey, as this service reaches it. */
  readonly url: string
  /** How long a caller who was accepted is accepted without asking again; 0 by default: a ban is felt with the next request. */
  readonly cacheSeconds?: number | undefined
  /** How long to wait for Latchkey before the caller is refused with 503; 3,000 by default. */
  readonly timeoutMs?: number | undefined
  readonly fetch?: Fetch | undefined
  /** The time in milliseconds, for tests. */
  readonly now?: (() => number) | undefined
}

/** Asks Latchkey about each request. */
export function createVerifier(options: VerifierOptions): Verifier {
  const { url, cacheSeconds = 0, timeoutMs = TIMEOUT_MS, fetch = globalThis.fetch, now = Date.now } = options
  const base = `${withoutSlash(url)}/auth/check`
  const cache = createCache(cacheSeconds * 1000, now)

  async function ask(credentials: Headers, query: string, signal: AbortSignal | undefined): Promise<Identity> {
    const timeout = AbortSignal.timeout(timeoutMs)
    const init = { headers: credentials, signal: signal ? AbortSignal.any([signal, timeout]) : timeout }
    try {
      const body = (await bodyOf(await reach(fetch, base + query, init))) as Partial<Schemas['Identity']>
      // Something else may have answered with 200.
      if (typeof body.user_id !== 'number') throw new TypeError('The response is not an identity')
      // An older service sends none: the product must not take that for an account without data.
      if (query.includes('data=true') && body.data === undefined) throw new TypeError('The response has no data')
      return toCamel(body as Schemas['Identity'])
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof LatchkeyError && [401, 403, 429].includes(error.status)) throw error
      // Whatever else happened, nobody has said that the caller may pass.
      throw refusal('unavailable', error)
    }
  }

  return {
    async verify(headers, requirement = {}, { signal } = {}) {
      const credentials = credentialsOf(headers)
      const query = queryOf(requirement)
      return cache(`${query}\n${JSON.stringify([...credentials])}`, () => ask(credentials, query, signal))
    },
  }
}

// No token has this form.
const BEARER_KEY = /^bearer +([a-z0-9]{2,16}_[\w-]{49})$/i

/** An API key may also come as a bearer token, as clients of other products send theirs. */
function credentialsOf(headers: HeaderSource): Headers {
  const credentials = new Headers()
  for (const name of ['authorization', 'x-api-key']) {
    const value = headerOf(headers, name)
    if (value === undefined) continue
    try {
      credentials.set(name, value)
    } catch {
      // A value that no header can have.
      throw refusal('not_authenticated')
    }
  }
  const [, key] = BEARER_KEY.exec(credentials.get('authorization') ?? '') ?? []
  if (key !== undefined) {
    credentials.delete('authorization')
    credentials.set('x-api-key', key)
  }
  if ([...credentials].length === 0) throw refusal('not_authenticated')
  return credentials
}

function queryOf({ role, scope, secondFactor, data, cost }: Requirement): string {
  const scopes = scopeText(scope)
  const query = new URLSearchParams({
    ...(role !== undefined && { role }),
    ...(scopes !== undefined && { scope: scopes }),
    ...(secondFactor && { second_factor: 'true' }),
    ...(data && { data: 'true' }),
    ...(cost !== undefined && { cost: String(cost) }),
  })
  return query.size > 0 ? `?${query}` : ''
}

/** Keeps callers who were accepted. The keys are hashed, so that no credential stays in memory. */
function createCache(keptMs: number, now: () => number) {
  const kept = new Map<string, { readonly identity: Identity; readonly until: number }>()

  async function hashed(key: string): Promise<string> {
    return String(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key))))
  }

  return async (key: string, ask: () => Promise<Identity>): Promise<Identity> => {
    if (keptMs <= 0) return ask()
    const id = await hashed(key)
    const known = kept.get(id)
    if (known !== undefined && now() < known.until) return known.identity
    kept.delete(id)
    const askedAt = now()
    const identity = await ask()
    const { expiresAt } = identity
    const until = Math.min(askedAt + keptMs, expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt))
    // The oldest goes first.
    if (kept.size >= MAX_CACHED) kept.delete(kept.keys().next().value ?? '')
    kept.set(id, { identity, until })
    return identity
  }
}
