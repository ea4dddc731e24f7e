import assert from 'node:assert/strict'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { fromAnywhere } from '../processes/all-settings.ts'
import { askPatiently } from './traffic.ts'

/** The possible states of a value: the last acknowledged one, and those requested since without a response. */
export type Known<Value> = { acknowledged: Value; readonly possible: Set<Value> }

/** An account as its client knows it: acknowledged states, and states left open by a lost response. */
export type Account = {
  readonly id: number
  readonly email: Known<string>
  readonly isGone: Known<boolean>
  /** By their refresh tokens. */
  readonly sessions: { readonly refresh: string; readonly isAlive: Known<boolean> }[]
  /** Whether a reset mail has to be sent: one was requested, and no ban prevents it. */
  isResetMailed: boolean
  readonly password: Known<string>
  readonly firstName: Known<string>
  readonly verified: Known<boolean>
  readonly banned: Known<boolean>
  /** By their secrets: a key that is rotated has several. */
  readonly keys: { readonly key: string; readonly id: string; readonly state: Known<'active' | 'inactive' | 'gone'> }[]
  /** Tokens that other services verify with the key set. */
  readonly offlineTokens: string[]
}

export function known<Value>(value: Value): Known<Value> {
  return { acknowledged: value, possible: new Set() }
}

export function candidates<Value>({ acknowledged, possible }: Known<Value>): Value[] {
  return [acknowledged, ...possible]
}

/** Throws if an acknowledged write is missing. */
export async function checkAccount(url: string, account: Account): Promise<void> {
  const { password, firstName, verified, banned, sessions, keys } = account
  const email = account.email.acknowledged
  const attempts = candidates(account.email).flatMap((name) => candidates(password).map((given) => ({ email: name, password: given })))
  const logins = await Promise.all(attempts.map((attempt) => askPatiently(url, 'POST', '/login/', attempt, fromAnywhere())))
  const good = logins.filter(({ status }) => status !== 400)
  const isGone = good.length === 0 && candidates(account.isGone).includes(true)
  if (isGone) return
  assert.equal(good.length, 1, `exactly one address and one password of ${email} are correct`)
  assert.ok(candidates(account.isGone).includes(false), `${email} is deleted, as acknowledged`)
  const isBanned = JSON.stringify(good[0]?.body).includes('banned')
  const isUnverified = JSON.stringify(good[0]?.body).includes('verify')
  assert.ok(candidates(banned).includes(isBanned), 'banned or not, as acknowledged')
  // The login of a banned account reveals neither verification nor sessions and keys.
  if (isBanned) return
  assert.ok(candidates(verified).includes(!isUnverified), 'verified or not, as acknowledged')
  const keySet = createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`))
  const unexpired = account.offlineTokens.filter((token) => Number(decodeJwt(token).exp) * 1000 > Date.now())
  for (const token of unexpired) await jwtVerify(token, keySet, { audience: 'reports' })
  for (const { refresh, isAlive } of sessions) {
    const { status } = await askPatiently(url, 'POST', '/refresh/', { refresh })
    assert.ok(candidates(isAlive).includes(status === 200), `a session of ${email}: ${status}, expected alive: ${candidates(isAlive)}`)
  }
  for (const { key, state } of keys) {
    const { status, body } = await askPatiently(url, 'GET', '/users/me', undefined, { 'x-api-key': key })
    const inactive = JSON.stringify(body).includes('inactive')
    const found = status === 200 ? 'active' : inactive ? 'inactive' : 'gone'
    assert.ok(candidates(state).includes(found), `a key of ${email} is ${found}, not ${candidates(state)}`)
    const name = (body as { first_name?: string }).first_name
    if (name !== undefined) assert.ok(candidates(firstName).includes(name), 'the name is as acknowledged')
  }
}
