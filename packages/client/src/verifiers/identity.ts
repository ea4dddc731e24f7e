import type { Schemas } from '../api.ts'
import { refusal } from '../error.ts'
import type { CallOptions } from '../http.ts'
import type { Camel } from '../names.ts'

/** Who is calling, and with which credential. */
export type Identity = Camel<Schemas['Identity']>

/** What a token says by itself. */
export type OfflineIdentity = Pick<Identity, 'userId' | 'email' | 'role' | 'method' | 'scopes' | 'expiresAt'>

/** What a caller must have. */
export type Requirement = {
  readonly role?: 'admin' | undefined
  /** The scopes that an API key must carry, as a list or separated by spaces. A session satisfies every scope. */
  readonly scope?: string | readonly string[] | undefined
  /** Requires a session with a second factor, or an API key. */
  readonly secondFactor?: boolean | undefined
  /** Whether the identity has `data`: what the product keeps about the account. An offline verifier has none. */
  readonly data?: boolean | undefined
  /** What the request of an API key counts for in its limits and its use; 1 by default. A verifier that caches, or works offline, does not count. */
  readonly cost?: number | undefined
}

/** The headers of a request: of the Fetch API, or of Node.js. */
export type HeaderSource =
  | { get(name: string): string | null | undefined }
  | { readonly [name: string]: string | readonly string[] | undefined }

export type Verifier<Verified = Identity> = {
  /**
   * Who sent a request with these headers. Throws a LatchkeyError with the status to refuse the request with: 401, 403, 429 if the API
   * key is beyond a limit (see `retryAfterSeconds`), or 503 if it cannot be found out.
   */
  verify(headers: HeaderSource, requirement?: Requirement, options?: CallOptions): Promise<Verified>
}

export function headerOf(headers: HeaderSource, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined
  // Node.js writes names in lower case; other servers may not.
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? []
  // Joined as Node.js joins them: a credential that is sent twice is none.
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}

/** The required scopes as one text; undefined if none is required. */
export function scopeText(scope: Requirement['scope']): string | undefined {
  if (scope === undefined) return undefined
  const text = typeof scope === 'string' ? scope : scope.join(' ')
  // An empty variable must not let every key in.
  if (text.trim() === '') throw refusal('unavailable', new TypeError('The required scope is empty'))
  return text
}
