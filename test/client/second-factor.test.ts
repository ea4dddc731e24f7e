import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Authenticator, type Client, createClient, createOfflineVerifier, createVerifier } from '../../packages/client/src/index.ts'
import { codeAt } from '../../src/security/totp.ts'
import { type Actor, member } from '../support/app/actors.ts'
import { createAuthenticator } from '../support/app/authenticator.ts'
import { startListening } from '../support/client/listening.ts'

const BASE_URL = 'https://id.example.com'

/** A client in a product. Its passkeys are in software, as in an app that is not a browser. */
async function start(t: TestContext) {
  const service = await startListening(t, { env: { BASE_URL } })
  const software = createAuthenticator({ origin: BASE_URL, rpId: 'id.example.com' })
  const asked: unknown[] = []
  const authenticator: Authenticator = {
    create: async (options) => software.create(options as Parameters<typeof software.create>[0]),
    async get(options, _signal, mediation) {
      asked.push(mediation)
      return software.get(options as Parameters<typeof software.get>[0])
    },
  }
  const newClient = () => createClient({ url: service.url, now: service.clock.now, authenticator })
  const mia = await member(service)
  const client = newClient()
  await client.login(mia)

  /** Turns codes on. Returns the present code of the app, which is new every time. */
  async function turnOn() {
    const { secret, uri } = await client.secondFactor.begin()
    assert.ok(uri.includes(secret))
    const code = () => {
      service.clock.advance({ seconds: 30 })
      return codeAt(secret, Math.floor(service.clock.now() / 30_000))
    }
    return { code, recoveryCodes: await client.secondFactor.confirm(code()) }
  }
  return { service, mia, client, newClient, turnOn, asked }
}

async function challengeOf(client: Client, who: Actor): Promise<string> {
  const login = await client.login(who)
  assert.ok(login.kind === 'secondStep', login.kind)
  return login.challenge
}

const hasSecondFactor = async (client: Client) => (await client.sessions.list()).find(({ current }) => current)?.secondFactor

test('login returns the tokens of a session, or a challenge and no session', async (t) => {
  const { mia, client, newClient, turnOn } = await start(t)
  const first = await client.login(mia)
  // @ts-expect-error: a program that ignores the second step does not compile.
  assert.match(first.tokens.token, /^ey/)
  const { code, recoveryCodes } = await turnOn()
  assert.equal(recoveryCodes.length, 10)
  assert.deepEqual(await client.secondFactor.status(), { totp: true, passkeys: 0, recoveryCodes: 10, required: false })

  const other = newClient()
  const login = await other.login(mia)
  assert.ok(login.kind === 'secondStep')
  assert.deepEqual(login.methods, ['totp', 'recovery_code'])
  await assert.rejects(other.me(), { code: 'not_authenticated' })
  await assert.rejects(other.secondFactor.complete(login.challenge, '000000'), { status: 401, message: 'Invalid code' })
  const { token } = await other.secondFactor.complete(login.challenge, code())
  assert.match(token, /^ey/)
  assert.equal((await other.me()).email, mia.email)
  assert.equal(await hasSecondFactor(other), true)
  await assert.rejects(other.secondFactor.complete(login.challenge, code()), { message: 'Invalid challenge' })
  await newClient().secondFactor.complete(await challengeOf(newClient(), mia), recoveryCodes[0] ?? '')
})

test('a login that needs its second step removes the tokens of an earlier session', async (t) => {
  const { service, mia, newClient, turnOn } = await start(t)
  await turnOn()
  const shared = newClient()
  await shared.login(await member(service))
  await shared.me()
  await challengeOf(shared, mia)
  // Otherwise a program that forgets the second step would continue as another user.
  await assert.rejects(shared.me(), { code: 'not_authenticated' })
})

test('codes are turned off, and recovery codes renewed, after a confirmation', async (t) => {
  const { service, mia, client, newClient, turnOn } = await start(t)
  const { code, recoveryCodes } = await turnOn()
  service.clock.advance({ minutes: 11 })
  await assert.rejects(client.secondFactor.renewRecoveryCodes(), { status: 403, code: 'confirmation_required' })
  await assert.rejects(client.confirm({ password: 'a wrong guess' }), { status: 400, code: 'wrong_credentials' })
  await client.confirm({ password: mia.password })
  const renewed = await client.secondFactor.renewRecoveryCodes()
  assert.equal(new Set([...renewed, ...recoveryCodes]).size, 20)
  service.clock.advance({ minutes: 11 })
  await client.confirm({ code: code() })
  await client.secondFactor.remove()
  assert.deepEqual(await client.secondFactor.status(), { totp: false, passkeys: 0, recoveryCodes: 0, required: false })
  assert.equal((await newClient().login(mia)).kind, 'session')
})

test('passkeys: add, list, rename, sign in, confirm, second step and remove', async (t) => {
  const { service, mia, client, newClient, turnOn, asked } = await start(t)
  const added = await client.passkeys.add('My phone')
  const { id } = added
  assert.deepEqual(added, {
    id,
    name: 'My phone',
    createdAt: new Date(service.clock.now()).toISOString(),
    lastUsedAt: null,
    backedUp: false,
  })
  assert.deepEqual(await client.passkeys.list(), [added])
  assert.equal((await client.passkeys.rename(id, 'Old phone')).name, 'Old phone')

  const other = newClient()
  await other.passkeys.signIn({ mediation: 'conditional' })
  assert.deepEqual(asked, ['conditional'])
  assert.equal((await other.me()).email, mia.email)
  assert.equal(await hasSecondFactor(other), true)

  await turnOn()
  assert.equal(await hasSecondFactor(client), true)
  await other.passkeys.signIn({ challenge: await challengeOf(other, mia) })
  assert.equal((await other.sessions.list()).find(({ current }) => current)?.method, 'password')

  service.clock.advance({ minutes: 11 })
  await assert.rejects(client.passkeys.remove(id), { code: 'confirmation_required' })
  await client.passkeys.confirm()
  await client.passkeys.remove(id)
  assert.deepEqual(await client.passkeys.list(), [])
  await assert.rejects(other.passkeys.signIn(), { status: 401, message: 'Invalid passkey' })
  for (const call of [client.passkeys.remove, (id: string) => client.passkeys.rename(id, 'x')]) await assert.rejects(call('..'), TypeError)
})

test('403: a verifier requires a second factor, and an offline verifier refuses a rule that it cannot check', async (t) => {
  const { service, mia, client, turnOn } = await start(t)
  const verifier = createVerifier({ url: service.url })
  const before = await verifier.verify(mia.headers)
  assert.equal(before.secondFactor, false)
  const required = { status: 403, code: 'second_factor_required' }
  await assert.rejects(verifier.verify(mia.headers, { secondFactor: true }), required)
  const { code } = await turnOn()
  const login = await client.login(mia)
  assert.ok(login.kind === 'secondStep')
  const { token } = await client.secondFactor.complete(login.challenge, code())
  const headers = { authorization: `Bearer ${token}` }
  assert.equal((await verifier.verify(headers, { secondFactor: true })).secondFactor, true)

  const issued = await service.app.inject({ method: 'POST', url: '/auth/token', headers, payload: { audience: 'reports' } })
  const offline = createOfflineVerifier({ url: service.url, issuer: BASE_URL, audience: 'reports', now: service.clock.now })
  const exchanged = { authorization: `Bearer ${issued.json().token}` }
  assert.equal((await offline.verify(exchanged)).userId, mia.id)
  await assert.rejects(offline.verify(exchanged, { secondFactor: true }), { status: 503 })
})
