import assert from 'node:assert/strict'
import { secretsOf } from '../../../../src/process/secrets.ts'
import { createServices } from '../../../../src/services.ts'
import type { Database } from '../../../../src/storage/database.ts'
import { type Actor, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { addPasskey, askForPasskey, caller, firstStep, secondStep, turnOn } from '../../../support/app/second-factor.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { ORIGIN } from '../../../support/http/origins.ts'
import { login, resetPassword } from '../../../support/http/requests.ts'

const HOME = '192.0.2.1'
const WRONG = 'aaaaa-aaaaa'

/** Both steps of a login, from a network. */
async function enter({ app }: TestApp, { email, password }: Pick<Actor, 'email' | 'password'>, code: string, remoteAddress: string) {
  const { challenge } = (await app.inject({ ...login({ email, password }), remoteAddress })).json()
  return secondStep({ app }, { challenge, code }, remoteAddress)
}

test('429: wrong codes from all networks count together, apart from those where the owner has signed in', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code } = await turnOn(service, mia)
  assert.equal((await enter(service, mia, code(), HOME)).statusCode, 200)
  service.clock.advance({ seconds: 30 })
  for (let n = 0; n < 10; n++) refused(await enter(service, mia, WRONG, `198.51.100.${n}`), 401, 'Invalid code')
  const limited = await enter(service, mia, code(), '203.0.113.9')
  refused(limited, 429, 'Too many requests')
  assert.ok(Number(limited.headers['retry-after']) >= 1)
  assert.equal((await enter(service, mia, code(), HOME)).statusCode, 200, 'the owner gets in')
  for (let n = 0; n < 10; n++) refused(await enter(service, mia, WRONG, HOME), 401, 'Invalid code')
  service.clock.advance({ seconds: 30 })
  refused(await enter(service, mia, code(), HOME), 429, 'Too many requests')
})

test('429: neither the right password nor a reset by mail makes a network known before the second step', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  await turnOn(service, mia)
  const password = 'password of the thief'
  const code = service.services.tokens.forMail('reset', mia.id, mia.resetVersion)
  const reset = await service.app.inject({ ...resetPassword({ code, new_password: password }), remoteAddress: HOME })
  assert.equal(reset.statusCode, 200)
  for (let n = 0; n < 10; n++) refused(await enter(service, { ...mia, password }, WRONG, `198.51.100.${n}`), 401, 'Invalid code')
  refused(await enter(service, { ...mia, password }, WRONG, HOME), 429, 'Too many requests')
})

test('429: wrong codes of a confirmation count too, and passkeys and the password are not affected', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code } = await turnOn(service, mia)
  const { authenticator } = await addPasskey(service, mia)
  const call = caller(service, mia)
  for (let n = 0; n < 10; n++) refused(await call('POST', '/users/me/confirm', { code: WRONG }), 400, 'Invalid code')
  refused(await call('POST', '/users/me/confirm', { code: code() }), 429, 'Too many requests')
  const challenge = await firstStep(service, mia)
  refused(await secondStep(service, { challenge, code: code() }), 429, 'Too many requests')
  assert.equal((await call('POST', '/users/me/confirm', { password: mia.password })).statusCode, 204)
  const confirmation = { passkey: authenticator.get(await askForPasskey(service)) }
  assert.equal((await call('POST', '/users/me/confirm', confirmation)).statusCode, 204)
  const passkey = authenticator.get(await askForPasskey(service, { challenge }))
  assert.equal((await secondStep(service, { challenge, passkey })).statusCode, 200)
})

test('401: five wrong codes end a challenge for a passkey too, also if the fifth comes while the passkey is verified', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  await turnOn(service, mia)
  const { authenticator } = await addPasskey(service, mia)
  const guess = async (challenge: string, count: number) => {
    for (let n = 0; n < count; n++) refused(await secondStep(service, { challenge, code: WRONG }), 401, 'Invalid code')
  }
  const ended = await firstStep(service, mia)
  await guess(ended, 5)
  refused(
    await secondStep(service, { challenge: ended, passkey: authenticator.get(await askForPasskey(service, { challenge: ended })) }),
    401,
    'Invalid challenge',
  )
  const challenge = await firstStep(service, mia)
  await guess(challenge, 4)
  const passkey = authenticator.get(await askForPasskey(service, { challenge }))
  // The fifth wrong code is counted after the passkey was read, and before its transaction.
  const { db, config, clock } = service
  const late: Database = {
    ...db,
    async transaction(...given) {
      await guess(challenge, 1)
      return db.transaction(...given)
    },
  }
  const { login: behind } = createServices(config, { db: late, secrets: () => secretsOf(config), now: clock.now })
  await assert.rejects(behind.api.bySecondStep(ORIGIN, challenge, { passkey }), { code: 'invalid_challenge' })
  assert.equal((await caller(service, mia)('GET', '/users/me/sessions')).json().length, 1)
})

test('200: a code one step early or late, and no other', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code } = await turnOn(service, mia)
  for (const [steps, status] of [
    [-2, 401],
    [2, 401],
    [-1, 200],
    [1, 200],
    [0, 401],
  ] as const) {
    // An earlier step than the last one that was used is refused: the steps of this table grow.
    if (steps === -1) service.clock.advance({ seconds: 60 })
    const challenge = await firstStep(service, mia)
    assert.equal((await secondStep(service, { challenge, code: code(steps) })).statusCode, status, `${steps} steps`)
  }
})

test('200: a recovery code in any case, with or without its hyphen, once', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { recoveryCodes } = await turnOn(service, mia)
  const spellings = [
    (text: string) => text,
    (text: string) => text.toUpperCase(),
    (text: string) => text.replace('-', ''),
    (text: string) => text.replace('-', '').toUpperCase(),
  ]
  for (const [n, spell] of spellings.entries()) {
    const given = recoveryCodes[n] ?? ''
    assert.match(given, /^[a-z2-7]{5}-[a-z2-7]{5}$/)
    assert.equal((await secondStep(service, { challenge: await firstStep(service, mia), code: spell(given) })).statusCode, 200)
    refused(await secondStep(service, { challenge: await firstStep(service, mia), code: given }), 401, 'Invalid code')
  }
  const { recovery_codes: fresh } = (await caller(service, mia)('POST', '/users/me/second-factor/recovery-codes')).json()
  refused(await secondStep(service, { challenge: await firstStep(service, mia), code: recoveryCodes[9] }), 401, 'Invalid code')
  assert.equal((await secondStep(service, { challenge: await firstStep(service, mia), code: fresh[9] })).statusCode, 200)
})

test('400: a setup lapses after 15 minutes, and another one replaces it', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const call = caller(service, mia)
  const { codeAt } = await import('../../../../src/security/totp.ts')
  const begin = async () => String((await call('POST', '/users/me/second-factor/totp')).json().secret)
  const confirm = (secret: string) =>
    call('POST', '/users/me/second-factor/totp/confirm', { code: codeAt(secret, Math.floor(service.clock.now() / 30_000)) })
  const replaced = await begin()
  const lapsed = await begin()
  refused(await confirm(replaced), 400, 'Invalid code')
  service.clock.advance({ minutes: 15 })
  assert.equal((await call('POST', '/users/me/confirm', { password: mia.password })).statusCode, 204)
  refused(await confirm(lapsed), 400, 'Invalid code')
  assert.equal((await confirm(await begin())).statusCode, 200)
})

test('422: a second step with a code and a passkey, or with neither', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code } = await turnOn(service, mia)
  const challenge = await firstStep(service, mia)
  for (const answer of [{}, { code: code(), passkey: {} }])
    invalid(await secondStep(service, { challenge, ...answer }), { loc: ['body'], type: 'value_error' })
  assert.equal((await secondStep(service, { challenge, code: code() })).statusCode, 200, 'nothing was counted')
})

test('401: a passkey whose id no authenticator has, whatever it contains', async (t) => {
  const service = await startApp(t)
  const { authenticator } = await addPasskey(service, await member(service))
  const credential = authenticator.get(await askForPasskey(service))
  for (const id of ['a\u0000b', '\ud800', '', ' ', 'x'.repeat(1401), "' or 1=1 --"]) {
    const payload = { credential: { ...credential, id, rawId: id } }
    refused(await service.app.inject({ method: 'POST', url: '/login/passkey', payload }), 401, 'Invalid passkey')
  }
})

test('a session keeps its second factor and its method when its owner changes the password', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code } = await turnOn(service, mia)
  const { token } = (await secondStep(service, { challenge: await firstStep(service, mia), code: code() })).json()
  const call = caller(service, { headers: { authorization: `Bearer ${token}` } })
  const views = async () => (await call('GET', '/users/me/sessions')).json().filter(({ current }: { current: boolean }) => current)
  const before = await views()
  assert.deepEqual([before[0].method, before[0].second_factor], ['password', true])
  assert.equal((await call('POST', `/users/${mia.id}/password`, { password: 'a new password' })).statusCode, 204)
  assert.deepEqual(await views(), before)
})
