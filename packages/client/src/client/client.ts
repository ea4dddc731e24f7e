import type { Schemas } from '../api.ts'
import { LatchkeyError } from '../error.ts'
import { bodyOf, type CallOptions, type Fetch, withoutSlash } from '../http.ts'
import { type Camel, toCamel } from '../names.ts'
import { type AccountCalls, accountCalls } from './account.ts'
import { type Authenticator, inBrowser, type PasskeyCredential } from './authenticator.ts'
import { type Begin, sendTo } from './call.ts'
import { type ChangeListener, watched } from './changes.ts'
import { type ApiKeyCalls, keyCalls } from './keys.ts'
import { type PasskeyCalls, passkeyCalls } from './passkeys.ts'
import { type RedirectCalls, redirectCalls } from './redirect.ts'
import { type SecondFactorCalls, secondFactorCalls } from './second-factor.ts'
import { createFetch, createSession } from './session.ts'
import { type SessionCalls, sessionCalls } from './sessions.ts'
import { inMemory, type TokenStorage, type Tokens, tokensFrom } from './tokens.ts'

export type ClientOptions = {
  /** The URL of Latchkey, such as `https://accounts.example.com`. */
  readonly url: string
  /** Where the tokens are kept; in memory by default, where a reload of the page ends the session. */
  readonly storage?: TokenStorage | undefined
  readonly fetch?: Fetch | undefined
  /** What asks for passkeys; `navigator.credentials` of the browser by default. */
  readonly authenticator?: Authenticator | undefined
  /** The time in milliseconds, for tests. */
  readonly now?: (() => number) | undefined
}

export type Registration = Camel<Schemas['Registration']>
export type Credentials = Schemas['Login']

/**
 * The result of the first step of a login: a session, or a challenge for the second step, which is due within five minutes. Only the
 * session has tokens, so that a program which needs them does not compile without the second step.
 */
export type LoginResult = { readonly kind: 'session'; readonly tokens: Tokens } | SecondStep
export type SecondStep = { readonly kind: 'secondStep' } & Readonly<Required<Pick<Schemas['LoginRefused'], 'challenge' | 'methods'>>>

/** What shows who is calling. A code of the app, a recovery code or a passkey also gives the session its second factor. */
export type Proof = { readonly password: string } | { readonly code: string } | { readonly passkey: PasskeyCredential }

export type Client = AccountCalls &
  RedirectCalls & {
    /** Creates an account. Its tokens are stored; they work as soon as the address is verified. */
    register(account: Registration, options?: CallOptions): Promise<void>
    /**
     * Starts a session and stores its tokens. If the account has a second factor, nothing is started yet: the tokens of an earlier session
     * are removed from the storage, and `secondFactor.complete` or `passkeys.signIn` takes the challenge.
     */
    login(credentials: Credentials, options?: CallOptions): Promise<LoginResult>
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
    /**
     * Calls the listener after somebody has logged in or out with this client, its session has ended, or it has changed the account. Returns
     * the function that removes the listener.
     */
    onChange(listener: ChangeListener): () => void
    readonly keys: ApiKeyCalls
    readonly sessions: SessionCalls
    readonly secondFactor: SecondFactorCalls
    readonly passkeys: PasskeyCalls
    /** Confirms who is calling. For ten minutes, the session may change how the account is opened. */
    confirm(proof: Proof, options?: CallOptions): Promise<void>
    /**
     * Like the `fetch` of the platform, with the access token, which is renewed when it has expired. The server that receives the request
     * can act as the user until the token expires: send it to your own services only.
     */
    readonly fetch: Fetch
  }

export function createClient(options: ClientOptions): Client {
  const { url, storage: kept = inMemory(), fetch = globalThis.fetch, authenticator = inBrowser, now = Date.now } = options
  const base = withoutSlash(url)
  const { storage, report, onChange } = watched(kept)
  // A browser refuses to call its own `fetch` as a method of another object.
  const send: Fetch = (input, init) => fetch(input, init)

  function attempt(method: string, path: string, fields: object | undefined, options: CallOptions) {
    return (token?: string) => {
      const credential: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
      return sendTo(send, base, { method, path, fields, credential }, options)
    }
  }

  async function callPublic<Result>(method: string, path: string, fields?: object, options: CallOptions = {}): Promise<Result> {
    return (await bodyOf(await attempt(method, path, fields, options)(), options.signal)) as Result
  }

  const session = createSession({
    storage,
    now,
    async renew(refresh, signal) {
      const { token } = await callPublic<Schemas['AccessToken']>('POST', '/refresh/', { refresh }, { signal })
      return token
    },
  })

  async function call<Result>(method: string, path: string, fields?: object, options: CallOptions = {}): Promise<Result> {
    const response = await session.send(attempt(method, path, fields, options), options)
    const body = await bodyOf(response, options.signal)
    return (body === undefined ? undefined : toCamel(body)) as Result
  }

  const begin: Begin = async (path, fields, options) => {
    const requestedAt = now()
    return keep(await callPublic<Schemas['TokenPair']>('POST', path, fields, options), requestedAt)
  }

  async function keep({ token, refresh }: Schemas['TokenPair'], requestedAt: number): Promise<Tokens> {
    const tokens = tokensFrom(token, refresh, requestedAt)
    await storage.set(tokens)
    return tokens
  }

  return {
    async register(account, options) {
      await begin('/register/', account, options)
    },
    async login(credentials, options = {}) {
      const requestedAt = now()
      const response = await attempt('POST', '/login/', credentials, options)()
      const isHalfDone = response.status === 401 && response.headers.get('x-error-code') === 'second_factor_required'
      const body = await bodyOf(response, options.signal, response.ok || isHalfDone)
      if (!isHalfDone) return { kind: 'session', tokens: await keep(body as Schemas['TokenPair'], requestedAt) }
      // A program that goes on without the second step must not go on as somebody else.
      await storage.set(null)
      const { challenge, methods } = body as SecondStep
      return { kind: 'secondStep', challenge, methods }
    },
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
    ...accountCalls(call, storage, report),
    ...redirectCalls(base, begin),
    onChange,
    keys: keyCalls(call),
    sessions: sessionCalls(call),
    secondFactor: secondFactorCalls(call, begin),
    passkeys: passkeyCalls(call, callPublic, begin, authenticator),
    confirm: (proof, options) => call('POST', '/users/me/confirm', proof, options),
    fetch: createFetch(session, send),
  }
}
