import assert from 'node:assert/strict'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import { codeAt } from '../../../src/security/totp.ts'
import { injectPatiently } from '../http/patience.ts'
import { login } from '../http/requests.ts'
import type { Actor } from './actors.ts'
import { type AuthenticatorOptions, createAuthenticator } from './authenticator.ts'
import type { TestApp } from './start-app.ts'

export type Client = Pick<Actor, 'headers'>
const NOBODY: Client = { headers: {} }

export function caller({ app }: { readonly app: App }, { headers }: Client) {
  return (method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH', url: string, payload?: object) =>
    app.inject({ method, url, headers, ...(payload && { payload }) })
}

export type TurnedOn = { readonly secret: string; readonly recoveryCodes: readonly string[]; code(steps?: number): string }

/** Turns codes of an app on. Returns the secret of the app, its present code, and the recovery codes. */
export async function turnOn(service: TestApp, user: Client): Promise<TurnedOn> {
  const call = caller(service, user)
  const { secret } = (await call('POST', '/users/me/second-factor/totp')).json()
  const code = (steps = 0) => codeAt(secret, Math.floor(service.clock.now() / 30_000) + steps)
  const confirmed = await call('POST', '/users/me/second-factor/totp/confirm', { code: code() })
  assert.equal(confirmed.statusCode, 200, confirmed.body)
  // The code is used up; the next one is another step.
  service.clock.advance({ seconds: 30 })
  return { secret, recoveryCodes: confirmed.json().recovery_codes, code }
}

/** Logs in with the password. Returns the challenge of the second step. */
export async function firstStep({ app }: { readonly app: App }, { email, password }: Actor): Promise<string> {
  const response = await injectPatiently(app, login({ email, password }))
  assert.equal(response.headers['x-error-code'], 'second_factor_required', response.body)
  return response.json().challenge
}

export const secondStep = (service: { readonly app: App }, payload: object, remoteAddress = '127.0.0.1') =>
  service.app.inject({ method: 'POST', url: '/login/second-factor', payload, remoteAddress })

/** Adds a passkey of an authenticator in software. */
export async function addPasskey(service: TestApp, user: Client, options: AuthenticatorOptions = {}) {
  const call = caller(service, user)
  const { id: rpId, origins } = service.config.relyingParty ?? assert.fail('the address of the service cannot have passkeys')
  const authenticator = createAuthenticator({ rpId, origin: origins[0] ?? '', ...options })
  const credential = authenticator.create((await call('POST', '/users/me/passkeys/options')).json())
  const response = await call('POST', '/users/me/passkeys', { name: 'My phone', credential })
  assert.equal(response.statusCode, 201, response.body)
  return { authenticator, id: String(response.json().id) }
}

/** The options of a login with a passkey. */
export async function askForPasskey(service: { readonly app: App }, payload: object = {}) {
  return (await caller(service, NOBODY)('POST', '/login/passkey/options', payload)).json()
}
