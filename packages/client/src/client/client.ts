import type { Schemas } from '../api.ts'
import { LatchkeyError } from '../error.ts'
import { bodyOf, type CallOptions, type Fetch, reach, withoutSlash } from '../http.ts'
import { type Camel, toCamel, toSnake } from '../names.ts'
import type { Call } from './call.ts'
import { createFetch } from './fetch.ts'
import { type ApiKeyCalls, keyCalls } from './keys.ts'
import { createSession } from './session.ts'
import { type SessionCalls, sessionCalls } from './sessions.ts'
import { inMemory, type TokenStorage, tokensFrom } from './tokens.ts'

export type ClientOptions = {
  /** The URL of Latchkey, such as `https://accounts.example.com`. */
  readonly url: string
  /** Where the tokens are kept; in memory by default, where a reload of the page ends the session. */
  readonly storage?: TokenStorage | undefined
  readonly fetch?: Fetch | undefined
  /** The time in milliseconds, for tests. */
  readonly now?: (() => number) | undefined
}

export type Profile = Camel<Schemas['Profile']>
export type Registration = Camel<Schemas['Registration']>
export type Credentials = Schemas['Login']

export type Client = {
  /** Creates an account. Its tokens are stored; they work as soon as the address is verified. */
  register(account: Registration, options?: CallOptions): Promise<void>
  /** Starts a session and stores its tokens. */
  login(credentials: Credentials, options?: CallOptions): Promise<void>
  /** Ends the session and removes its tokens from the storage, even if the service is not reachable. Then it throws. */
  logout(options?: CallOptions): Promise<void>
  /** Verifies an address with the `code` of the link in the mail. */
  verify(code: string, options?: CallOptions): Promise<void>
  /** Sends the verification mail again. The result is the same for every address. */
  resendVerification(email: string, options?: CallOptions): Promise<void>
  /** Sends a mail with a link that resets the password. The result is the same for every address. */
  forgotPassword(email: string, options?: CallOptions): Promise<void>
  /** Sets a new password with the `code` of the link in the mail. It ends all sessions of the account. */
  resetPassword(reset: { readonly code: string; readonly password: string }, options?: CallOptions): Promise<void>
  /** The user who is logged in. */
  me(options?: CallOptions): Promise<Profile>
  readonly keys: ApiKeyCalls
  readonly sessions: SessionCalls
  /**
   * Like the `fetch` of the platform, with the access token, which is renewed when it has expired. The server that receives the request
   * can act as the user until the token expires: send it to your own services only.
   */
  readonly fetch: Fetch
}

export function createClient({ url, storage = inMemory(), fetch = globalThis.fetch, now = Date.now }: ClientOptions): Client {
  const base = withoutSlash(url)
  // A browser refuses to call its own `fetch` as a method of another object.
  const send: Fetch = (input, init) => fetch(input, init)

  function attempt(method: string, path: string, fields: object | undefined, options: CallOptions) {
    return (token?: string) =>
      reach(send, base + path, {
        method,
        headers: {
          accept: 'application/json',
          ...(fields && { 'content-type': 'application/json' }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        ...(fields && { body: JSON.stringify(toSnake(fields)) }),
        ...(options.signal && { signal: options.signal }),
      })
  }

  const callPublic: Call = async (method, path, fields, options = {}) =>
    bodyOf(await attempt(method, path, fields, options)(), options.signal)

  const session = createSession({
    storage,
    now,
    async renew(refresh, signal) {
      const { token } = (await callPublic('POST', '/refresh/', { refresh }, { signal })) as Schemas['AccessToken']
      return token
    },
  })

  const call: Call = async (method, path, fields, options = {}) => {
    const response = await session.send(attempt(method, path, fields, options), options)
    const body = await bodyOf(response, options.signal)
    return body === undefined ? undefined : toCamel(body)
  }

  /** Starts a session with the tokens that a call returns. */
  async function begin(path: string, fields: object, options?: CallOptions): Promise<void> {
    const requestedAt = now()
    const { token, refresh } = (await callPublic('POST', path, fields, options)) as Schemas['TokenPair']
    await storage.set(tokensFrom(token, refresh, requestedAt))
  }

  return {
    register: (account, options) => begin('/register/', account, options),
    login: (credentials, options) => begin('/login/', credentials, options),
    async logout(options) {
      if (!(await storage.get())) return
      try {
        await call('POST', '/logout/', undefined, options)
      } catch (error) {
        // A session that has ended already needs no logout.
        if (!(error instanceof LatchkeyError && error.status === 401)) throw error
      } finally {
        await storage.set(null)
      }
    },
    async verify(code, options) {
      await callPublic('GET', `/verify/?code=${encodeURIComponent(code)}`, undefined, options)
    },
    async resendVerification(email, options) {
      await callPublic('POST', '/verify/resend/', { email }, options)
    },
    async forgotPassword(email, options) {
      await callPublic('POST', '/forgot-password/', { email }, options)
    },
    async resetPassword({ code, password }, options) {
      await callPublic('POST', '/reset-password/', { code, newPassword: password }, options)
    },
    me: async (options) => (await call('GET', '/users/me', undefined, options)) as Profile,
    keys: keyCalls(call),
    sessions: sessionCalls(call),
    fetch: createFetch(session, send),
  }
}
