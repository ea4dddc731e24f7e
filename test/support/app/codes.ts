import assert from 'node:assert/strict'
import { codeAt } from '../../../src/security/totp.ts'
import type { Actor } from './actors.ts'
import type { TestApp } from './start-app.ts'

/** Turns codes from an app on, as another client of the same user does. Returns the app, and the recovery codes. */
export async function turnOnCodes({ app, clock }: TestApp, { headers }: Pick<Actor, 'headers'>) {
  const url = '/users/me/second-factor/totp'
  const begun = await app.inject({ method: 'POST', url, headers })
  const { secret } = begun.json<{ secret: string }>()
  const code = () => codeAt(secret, Math.floor(clock.now() / 30_000))
  const confirmed = await app.inject({ method: 'POST', url: `${url}/confirm`, headers, payload: { code: code() } })
  assert.equal(confirmed.statusCode, 200, confirmed.body)
  // The code is used up; the next one is another step.
  clock.advance({ seconds: 30 })
  return { code, recoveryCodes: confirmed.json<{ recovery_codes: string[] }>().recovery_codes }
}
