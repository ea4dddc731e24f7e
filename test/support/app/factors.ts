import assert from 'node:assert/strict'
import { codeAt } from '../../../src/security/totp.ts'
import type { Actor } from './actors.ts'
import { createAuthenticator } from './authenticator.ts'
import type { TestApp } from './start-app.ts'

/** The settings of a service that has passkeys, and the party that its authenticators sign for. */
export const WITH_PASSKEYS = { BASE_URL: 'https://id.example.com' } as const
const PARTY = { origin: WITH_PASSKEYS.BASE_URL, rpId: 'id.example.com' }

export type Enrolled = {
  readonly secret: string
  readonly recoveryCodes: readonly string[]
  readonly authenticator: ReturnType<typeof createAuthenticator>
}

/** Gives an account codes of an app and a passkey. The service needs WITH_PASSKEYS. */
export async function enrol({ app, clock }: TestApp, { headers }: Pick<Actor, 'headers'>): Promise<Enrolled> {
  const post = (url: string, payload: object = {}) => app.inject({ method: 'POST', url: `/users/me/${url}`, headers, payload })
  const { secret } = (await post('second-factor/totp')).json()
  const confirmed = await post('second-factor/totp/confirm', { code: codeAt(secret, Math.floor(clock.now() / 30_000)) })
  assert.equal(confirmed.statusCode, 200, confirmed.body)
  // The code is used up; the next one is another step.
  clock.advance({ seconds: 30 })
  const authenticator = createAuthenticator(PARTY)
  const credential = authenticator.create((await post('passkeys/options')).json())
  assert.equal((await post('passkeys', { name: 'Phone', credential })).statusCode, 201)
  return { secret, recoveryCodes: confirmed.json().recovery_codes, authenticator }
}

/** Signs in with a password and a code, at any service that knows the account. */
export async function signInWithCode({ app }: Pick<TestApp, 'app'>, account: Pick<Actor, 'email' | 'password'>, code: string) {
  const first = await app.inject({ method: 'POST', url: '/login/', payload: { email: account.email, password: account.password } })
  assert.equal(first.headers['x-error-code'], 'second_factor_required', first.body)
  return app.inject({ method: 'POST', url: '/login/second-factor', payload: { challenge: first.json().challenge, code } })
}

export async function signInWithPasskey({ app }: Pick<TestApp, 'app'>, { authenticator }: Enrolled) {
  const post = (url: string, payload: object) => app.inject({ method: 'POST', url, payload })
  const options = (await post('/login/passkey/options', {})).json()
  return post('/login/passkey', { credential: authenticator.get(options) })
}
