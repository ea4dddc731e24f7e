import assert from 'node:assert/strict'
import { createTokens } from '../../../src/security/token.ts'
import { TEST_SECRET } from '../app/start-app.ts'
import { payloadOf } from '../http/forged-tokens.ts'
import { newEmail, PASSWORD } from '../http/requests.ts'
import { fromAnywhere } from '../processes/all-settings.ts'
import { type Account, checkAccount, type Known, known } from './steady-account.ts'
import { ask, registration, type TimedResponse } from './traffic.ts'

export type SteadyClient = {
  /** The accounts whose registration was acknowledged. */
  readonly accounts: Account[]
  /** The number of acknowledged writes. */
  acknowledged(): number
  /** Sends requests until a response is missing. After a 503, which a busy machine may cause, it continues with another account. */
  run(url: string, admin: Readonly<Record<string, string>>): Promise<void>
  /** Throws if an acknowledged write is missing. */
  check(url: string): Promise<void>
}

const tokens = createTokens([new TextEncoder().encode(TEST_SECRET)], Date.now)

const NEW_PASSWORD = 'a brand new password'

class LostResponse extends Error {}
class Unavailable extends Error {}

/** Reads the versions that the mailed tokens of an account contain. */
export type VersionsOf = (
  id: number,
) => Promise<{ readonly emailVersion: number; readonly resetVersion: number; readonly changeVersion: number }>

/** Creates a client that registers and uses accounts, one request at a time, and records every acknowledged write. */
export function createSteadyClient(versionsOf: VersionsOf): SteadyClient {
  const accounts: Account[] = []
  let acknowledged = 0
  let turn = 0

  async function write(url: string, wanted: number, method: string, path: string, body?: unknown, headers = {}): Promise<TimedResponse> {
    const answer = await ask(url, method, path, body, { ...fromAnywhere(), ...headers })
    if (answer.status === 0) throw new LostResponse(answer.what)
    if (answer.status === 503) throw new Unavailable(answer.what)
    assert.equal(answer.status, wanted, `${answer.what}: ${JSON.stringify(answer.body)}`)
    acknowledged++
    return answer
  }

  /** Until the response arrives, both the old and the new value are possible. */
  async function changing<Value>(known: Known<Value>, next: Value, request: () => Promise<unknown>): Promise<void> {
    known.possible.add(next)
    await request()
    acknowledge(known, next)
  }

  function acknowledge<Value>(known: Known<Value>, value: Value): void {
    known.acknowledged = value
    known.possible.clear()
  }

  async function requestReset(url: string, account: Account): Promise<void> {
    await write(url, 200, 'POST', '/forgot-password/', { email: account.email.acknowledged })
    account.isResetMailed = true
  }

  async function logIn(url: string, { email, password, sessions }: Account): Promise<{ authorization: string }> {
    const { body } = await write(url, 200, 'POST', '/login/', { email: email.acknowledged, password: password.acknowledged })
    const { token, refresh } = body as { token: string; refresh: string }
    sessions.push({ refresh, isAlive: known(true) })
    return { authorization: `Bearer ${token}` }
  }

  /** Sets a new password, which ends all sessions. */
  async function reset(url: string, { id, password, sessions }: Account, version: number): Promise<void> {
    const body = { code: tokens.forMail('reset', id, version), new_password: NEW_PASSWORD }
    for (const { isAlive } of sessions) isAlive.possible.add(false)
    await changing(password, NEW_PASSWORD, () => write(url, 200, 'POST', '/reset-password/', body))
    for (const { isAlive } of sessions) acknowledge(isAlive, false)
  }

  async function register(url: string): Promise<Account> {
    const email = newEmail()
    const { body } = await write(url, 201, 'POST', '/register/', registration(email))
    const { token, refresh } = body as { token: string; refresh: string }
    const account: Account = {
      id: Number(payloadOf(token)['sub']),
      email: known(email),
      isGone: known(false),
      sessions: [{ refresh, isAlive: known(true) }],
      isResetMailed: false,
      password: known(PASSWORD),
      firstName: known('Mia'),
      verified: known(false),
      banned: known(false),
      keys: [],
      offlineTokens: [],
    }
    accounts.push(account)
    return account
  }

  async function makeKey(url: string, { keys }: Account, bearer: Record<string, string>): Promise<Account['keys'][number]> {
    return addKey(keys, await write(url, 200, 'POST', '/users/keys', { name: 'one', scopes: [] }, bearer))
  }

  function addKey(keys: Account['keys'], { body }: TimedResponse): Account['keys'][number] {
    const { id, key } = body as { id: string; key: string }
    const added = { id, key, state: known<'active' | 'inactive' | 'gone'>('active') }
    keys.push(added)
    return added
  }

  /** Rotates a key with an overlap, which keeps its former secret, and then without one, which ends all former secrets. */
  async function rotate(url: string, account: Account, bearer: Record<string, string>): Promise<void> {
    const { keys } = account
    const first = await makeKey(url, account, bearer)
    const path = `/users/keys/${first.id}/rotate`
    const second = addKey(keys, await write(url, 200, 'POST', path, { overlap_seconds: 3600 }, bearer))
    for (const { state } of [first, second]) state.possible.add('gone')
    addKey(keys, await write(url, 200, 'POST', path, undefined, bearer))
    for (const { state } of [first, second]) acknowledge(state, 'gone')
  }

  /** Gives keys up in both ways that need no session, ends a session, and gets a token for other services. */
  async function revoke(url: string, account: Account, bearer: Record<string, string>): Promise<void> {
    const [leaked, found] = [await makeKey(url, account, bearer), await makeKey(url, account, bearer)]
    const report = [{ token: leaked.key, type: 'key', url: 'https://example.com/leak' }]
    await changing(leaked.state, 'inactive', () => write(url, 200, 'POST', '/auth/leaked', report))
    await changing(found.state, 'inactive', () => write(url, 204, 'DELETE', '/auth/key', undefined, { 'x-api-key': found.key }))
    const { authorization } = await logIn(url, account)
    const { isAlive } = account.sessions.at(-1) ?? assert.fail('the login is not recorded')
    const path = `/users/me/sessions/${payloadOf(authorization.split(' ')[1] ?? '')['sid']}`
    await changing(isAlive, false, () => write(url, 204, 'DELETE', path, undefined, bearer))
    const { body } = await write(url, 200, 'POST', '/auth/token', { audience: 'reports', lifetime_seconds: 900 }, bearer)
    account.offlineTokens.push((body as { token: string }).token)
  }

  async function verify(url: string, { id, verified }: Account): Promise<void> {
    const code = tokens.forMail('verify', id, (await versionsOf(id)).emailVersion)
    await changing(verified, true, () => write(url, 200, 'GET', `/verify/?code=${code}`))
  }

  /** Asks for a new address, which takes effect when the mailed link is opened. */
  async function move(url: string, account: Account): Promise<void> {
    const { id, email } = account
    await verify(url, account)
    const bearer = await logIn(url, account)
    const next = newEmail()
    await write(url, 200, 'PUT', `/users/${id}`, { email: next }, bearer)
    const code = tokens.forMail('email_change', id, (await versionsOf(id)).changeVersion)
    await changing(email, next, () => write(url, 200, 'GET', `/confirm-email/?code=${code}`))
  }

  async function leave(url: string, account: Account): Promise<void> {
    await verify(url, account)
    const bearer = await logIn(url, account)
    const body = { password: account.password.acknowledged }
    await changing(account.isGone, true, () => write(url, 204, 'DELETE', '/users/me', body, bearer))
  }

  async function use(url: string, account: Account, admin: Readonly<Record<string, string>>): Promise<void> {
    const { id, firstName, banned, keys } = account
    const { resetVersion } = await versionsOf(id)
    await verify(url, account)
    const bearer = await logIn(url, account)
    await makeKey(url, account, bearer)
    await makeKey(url, account, bearer)
    const [first, second] = keys
    assert.ok(first && second)
    await changing(first.state, 'inactive', () => write(url, 200, 'PATCH', `/users/keys/${first.id}`, { is_active: false }, bearer))
    await changing(second.state, 'gone', () => write(url, 204, 'DELETE', `/users/keys/${second.id}`, undefined, bearer))
    await makeKey(url, account, bearer)
    await rotate(url, account, bearer)
    await revoke(url, account, bearer)
    await changing(firstName, 'Maria', () => write(url, 200, 'PUT', `/users/${id}`, { first_name: 'Maria' }, bearer))
    await requestReset(url, account)
    await reset(url, account, resetVersion)
    await logIn(url, account)
    // A banned user gets no mail.
    account.isResetMailed = false
    await changing(banned, true, () => write(url, 204, 'POST', `/users/${id}/ban`, undefined, admin))
    await changing(banned, false, () => write(url, 204, 'POST', `/users/${id}/unban`, undefined, admin))
  }

  return {
    accounts,
    acknowledged: () => acknowledged,
    async run(url, admin) {
      for (;;) {
        try {
          // Every other account only waits for its mails.
          await requestReset(url, await register(url))
          const live = [use, move, leave][turn++ % 3] ?? use
          await live(url, await register(url), admin)
        } catch (error) {
          if (error instanceof LostResponse) return
          if (!(error instanceof Unavailable)) throw error
        }
      }
    },
    async check(url) {
      for (const account of accounts) await checkAccount(url, account)
    },
  }
}
