import { refusal } from '../error.ts'
import type { CallOptions } from '../http.ts'
import type { Begin } from './call.ts'
import type { Tokens } from './tokens.ts'

export type RedirectSignIn = {
  /** The page of the product to return to, which calls `completeSignIn`. Its origin is in RETURN_ORIGINS, or is that of FRONTEND_URL. */
  readonly returnTo: string
  /** The page of Latchkey that is opened first. */
  readonly page?: 'sign-in' | 'register' | undefined
}

export type RedirectCalls = {
  /** Leads to the account pages of Latchkey. The browser returns when the person has signed in, or at once if they were. */
  signInWithRedirect(options: RedirectSignIn): Promise<void>
  /**
   * Starts the session with which the account pages have led back here, and stores its tokens. Returns null if they have not. The address
   * bar is cleaned in any case. Throws `unknown_state` if this tab did not begin the sign-in: then begin one, never continue.
   */
  completeSignIn(options?: CallOptions): Promise<Tokens | null>
}

/** The part of a browser that the types of Node.js do not have. */
const browser = globalThis as unknown as {
  readonly location: { readonly href: string; assign(url: string): void }
  readonly history: { replaceState(state: unknown, unused: string, url: URL): void }
  /** Of one tab, so that it also shows which tab has begun a sign-in. */
  readonly sessionStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void; removeItem(key: string): void }
}

/** No key of the product, whatever the state in an address is. */
const keyOf = (state: string) => `latchkey:${state}`

export function redirectCalls(base: string, begin: Begin): RedirectCalls {
  return {
    async signInWithRedirect({ returnTo, page = 'sign-in' }) {
      const { location, sessionStorage } = browser
      const state = crypto.randomUUID()
      const verifier = crypto.randomUUID() + crypto.randomUUID()
      const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)))
      const challenge = btoa(String.fromCharCode(...hash))
        .replaceAll('+', '-')
        .replaceAll('/', '_')
        .replace('=', '')
      const { href } = new URL(returnTo, location.href)
      sessionStorage.setItem(keyOf(state), verifier)
      location.assign(`${base}/account/${page}?${new URLSearchParams({ return_to: href, code_challenge: challenge, state })}`)
    },
    async completeSignIn(options) {
      const { location, history, sessionStorage } = browser
      const url = new URL(location.href)
      const { searchParams } = url
      const [code, state] = [searchParams.get('code'), searchParams.get('state')]
      if (!code || !state) return null
      searchParams.delete('code')
      searchParams.delete('state')
      // Before anything is awaited: a second call, or a reload, must not use the code again, which would end the session.
      history.replaceState(null, '', url)
      const codeVerifier = sessionStorage.getItem(keyOf(state))
      sessionStorage.removeItem(keyOf(state))
      if (!codeVerifier) throw refusal('unknown_state')
      return begin('/login/exchange', { code, codeVerifier }, options)
    },
  }
}
