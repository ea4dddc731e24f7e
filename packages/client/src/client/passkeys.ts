import type { Schemas } from '../api.ts'
import type { CallOptions } from '../http.ts'
import type { Camel } from '../names.ts'
import type { Authenticator, Mediation, PasskeyCredential } from './authenticator.ts'
import { type Begin, type Call, segment } from './call.ts'
import type { Tokens } from './tokens.ts'

export type Passkey = Camel<Schemas['Passkey']>

export type PasskeySignIn = CallOptions & {
  /** The challenge of a login, if the passkey is its second step. */
  readonly challenge?: string | undefined
  /** With `conditional`, the browser offers passkeys in a field with `autocomplete="username webauthn"`. */
  readonly mediation?: Mediation | undefined
}

export type PasskeyCalls = {
  /** Starts a session with a passkey and stores its tokens. */
  signIn(options?: PasskeySignIn): Promise<Tokens>
  /** Confirms with a passkey who is calling, as `client.confirm` does. */
  confirm(options?: CallOptions): Promise<void>
  /** Oldest first. */
  list(options?: CallOptions): Promise<Passkey[]>
  /** Lets the browser create a passkey, and adds it to the account. */
  add(name: string, options?: CallOptions): Promise<Passkey>
  rename(id: string, name: string, options?: CallOptions): Promise<Passkey>
  remove(id: string, options?: CallOptions): Promise<void>
}

export function passkeyCalls(call: Call, callPublic: Call, begin: Begin, authenticator: Authenticator): PasskeyCalls {
  const path = '/users/me/passkeys'
  async function ask({ challenge, mediation, signal }: PasskeySignIn): Promise<PasskeyCredential> {
    const asked = await callPublic<object>('POST', '/login/passkey/options', { challenge }, { signal })
    return authenticator.get(asked, signal, mediation)
  }
  return {
    async signIn(options = {}) {
      const passkey = await ask(options)
      const { challenge } = options
      if (challenge === undefined) return begin('/login/passkey', { credential: passkey }, options)
      return begin('/login/second-factor', { challenge, passkey }, options)
    },
    confirm: async (options = {}) => call('POST', '/users/me/confirm', { passkey: await ask(options) }, options),
    list: (options) => call<Passkey[]>('GET', path, undefined, options),
    async add(name, options = {}) {
      const asked = await call<object>('POST', `${path}/options`, undefined, options)
      const credential = await authenticator.create(asked, options.signal)
      return call<Passkey>('POST', path, { name, credential }, options)
    },
    rename: async (id, name, options) => call<Passkey>('PATCH', `${path}/${segment(id)}`, { name }, options),
    remove: async (id, options) => call('DELETE', `${path}/${segment(id)}`, undefined, options),
  }
}
