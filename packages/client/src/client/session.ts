import { LatchkeyError, refusal } from '../error.ts'
import type { Fetch } from '../http.ts'
import { areOfSameUser, type TokenStorage, type Tokens, tokensFrom } from './tokens.ts'

// A token this close to its expiry is renewed before it is used.
const MARGIN_MS = 30_000

type Session = {
  /** Sends a request with the access token. The token is renewed before if it is about to expire, and once after a 401. */
  send(attempt: (token: string | undefined) => Promise<Response>, options: SendOptions): Promise<Response>
}

type SendOptions = { readonly signal?: AbortSignal | undefined; readonly isRepeatable?: boolean }

type SessionParts = {
  readonly storage: TokenStorage
  readonly now: () => number
  /** Requests a new access token. */
  readonly renew: (refresh: string, signal: AbortSignal) => Promise<string>
}

type Flight = { readonly refresh: string; readonly renewed: Promise<Tokens>; readonly controller: AbortController; waiting: number }

export function createSession({ storage, now, renew }: SessionParts): Session {
  let current: Flight | undefined

  /** Renews these tokens, together with every other call that needs it at this time. */
  async function renewed(used: Tokens, signal: AbortSignal | undefined): Promise<Tokens> {
    signal?.throwIfAborted()
    if (current?.refresh !== used.refresh) current = start(used)
    const flight = current
    flight.waiting++
    try {
      return await unlessAborted(flight.renewed, signal)
    } finally {
      flight.waiting--
      // The request ends with the last call that waits for it, so that a request that hangs does not block later calls.
      if (flight.waiting === 0) {
        if (current === flight) current = undefined
        flight.controller.abort()
      }
    }
  }

  function start(used: Tokens): Flight {
    const controller = new AbortController()
    return { refresh: used.refresh, renewed: request(used, controller.signal), controller, waiting: 0 }
  }

  async function request(used: Tokens, signal: AbortSignal): Promise<Tokens> {
    const stored = await storedFor(used)
    // An earlier call, or another tab, has renewed them already.
    if (stored.token !== used.token) return stored
    const requestedAt = now()
    try {
      const tokens = tokensFrom(await renew(used.refresh, signal), used.refresh, requestedAt)
      const latest = await storedFor(used)
      // The user has logged in again meanwhile.
      if (latest.refresh !== used.refresh) return latest
      await storage.set(tokens)
      return tokens
    } catch (error) {
      if (!isRefused(error)) throw error
      const latest = await storedFor(used)
      // Another tab has logged in again.
      if (latest.refresh !== used.refresh) return latest
      await storage.set(null)
      throw error
    }
  }

  /** What is stored now. A call that was made for one user is never repeated as another. */
  async function storedFor(used: Tokens): Promise<Tokens> {
    const stored = await storage.get()
    if (!stored || !areOfSameUser(stored, used)) throw refusal('not_authenticated')
    return stored
  }

  /** A failure is not the end: the token may still be accepted, and a 401 leads to another attempt. */
  async function freshTokens(signal: AbortSignal | undefined): Promise<Tokens | null> {
    // A storage in JavaScript may return undefined.
    const stored = (await storage.get()) ?? null
    const isExpiring = stored !== null && stored.expiresAt - now() <= MARGIN_MS
    if (!isExpiring) return stored
    return renewed(stored, signal).catch(() => {
      signal?.throwIfAborted()
      return stored
    })
  }

  return {
    async send(attempt, { signal, isRepeatable = true }) {
      const tokens = await freshTokens(signal)
      const response = await attempt(tokens?.token)
      if (response.status !== 401 || tokens === null || !isRepeatable) return response
      const later = await renewed(tokens, signal).catch((error) => {
        if (isRefused(error)) return undefined
        throw error
      })
      if (later === undefined) return response
      await response.body?.cancel()
      return attempt(later.token)
    },
  }
}

/** The `fetch` of the platform, with the access token of the session. */
export function createFetch(session: Session, fetch: Fetch): Fetch {
  return (input, init) => {
    const request = new Request(input, init)
    // A stream is sent once: repeating it would need a copy of all of it in memory.
    const isRepeatable = !(init?.body instanceof ReadableStream)
    const attempt = (token: string | undefined) => {
      const copy = isRepeatable ? request.clone() : request
      if (token !== undefined) copy.headers.set('authorization', `Bearer ${token}`)
      return fetch(copy)
    }
    return session.send(attempt, { signal: request.signal, isRepeatable })
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof LatchkeyError && error.status === 401
}

function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
