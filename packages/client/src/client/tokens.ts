import { parsePart } from '../jwt.ts'

/** The tokens of a session, as a storage keeps them. */
export type Tokens = {
  readonly token: string
  readonly refresh: string
  /** When the access token expires by the clock of this device, in milliseconds. */
  readonly expiresAt: number
}

/** Where tokens are kept: a pair of functions that may return promises. */
export type TokenStorage = {
  get(): Tokens | null | Promise<Tokens | null>
  set(tokens: Tokens | null): void | Promise<void>
}

export function inMemory(): TokenStorage {
  let kept: Tokens | null = null
  return {
    get: () => kept,
    set(tokens) {
      kept = tokens
    },
  }
}

/**
 * The expiry is the lifetime of the token, counted from the time when it was requested. The clocks of the device and of the service are
 * never compared: either may be wrong by hours.
 */
export function tokensFrom(token: string, refresh: string, requestedAt: number): Tokens {
  const { iat, exp } = claimsOf(token)
  const lifetimeSeconds = Number(exp) - Number(iat)
  // A token that cannot be read is used until it is refused.
  return { token, refresh, expiresAt: lifetimeSeconds > 0 ? requestedAt + lifetimeSeconds * 1000 : Number.MAX_SAFE_INTEGER }
}

export function areOfSameUser(one: Tokens, other: Tokens): boolean {
  return one.refresh === other.refresh || claimsOf(one.token)['sub'] === claimsOf(other.token)['sub']
}

function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    return parsePart(token.split('.')[1])
  } catch {
    return {}
  }
}
