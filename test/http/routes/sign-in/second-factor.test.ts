import assert from 'node:assert/strict'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { caller, firstStep, secondStep, turnOn } from '../../../support/app/second-factor.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { login } from '../../../support/http/requests.ts'

const PATH = '/users/me/second-factor'

test('200: a login of an account with codes takes two steps, and its session has a second factor', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code } = await turnOn(service, mia)
  const first = await service.app.inject(login(mia))
  assert.deepEqual(first.json().methods, ['totp', 'recovery_code'])
  const second = await secondStep(service, { challenge: first.json().challenge, code: code() })
  assert.equal(second.statusCode, 200, second.body)
  const headers = { authorization: `Bearer ${second.json().token}` }
  const [session] = (await service.app.inject({ url: '/users/me/sessions', headers })).json()
  assert.deepEqual([session.method, session.second_factor, session.current], ['password', true, true])
  const check = await service.app.inject({ url: '/auth/check?second_factor=true', headers })
  assert.equal(check.json().second_factor, true)
})

test('401: a code works once, also for five requests at once, and a challenge works for five minutes', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code, recoveryCodes } = await turnOn(service, mia)
  for (const given of [code(), recoveryCodes[0]?.replace('-', '').toUpperCase() ?? '']) {
    const challenges = await Promise.all(Array.from({ length: 5 }, () => firstStep(service, mia)))
    const answers = await Promise.all(challenges.map((challenge) => secondStep(service, { challenge, code: given })))
    assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [200, 401, 401, 401, 401], given)
    const challenge = await firstStep(service, mia)
    const one = code()
    service.clock.advance({ minutes: 11 })
    const fresh = await firstStep(service, mia)
    refused(await secondStep(service, { challenge, code: one }), 401, 'Invalid challenge')
    refused(await secondStep(service, { challenge: fresh, code: given }), 401, 'Invalid code')
    service.clock.advance({ minutes: 11 })
  }
})

test('401: one success and five wrong codes end a challenge', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code } = await turnOn(service, mia)
  const used = await firstStep(service, mia)
  assert.equal((await secondStep(service, { challenge: used, code: code() })).statusCode, 200)
  refused(await secondStep(service, { challenge: used, code: code() }), 401, 'Invalid challenge')
  const challenge = await firstStep(service, mia)
  for (let n = 0; n < 5; n++) refused(await secondStep(service, { challenge, code: '000000' }), 401, 'Invalid code')
  service.clock.advance({ seconds: 30 })
  refused(await secondStep(service, { challenge, code: code() }), 401, 'Invalid challenge')
})

test('429: ten wrong codes of an account in ten minutes, whatever the challenge', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code } = await turnOn(service, mia)
  for (let n = 0; n < 10; n++) {
    const challenge = await firstStep(service, mia)
    refused(await secondStep(service, { challenge, code: 'aaaaa-aaaaa' }), 401, 'Invalid code')
  }
  const challenge = await firstStep(service, mia)
  const limited = await secondStep(service, { challenge, code: code() })
  refused(limited, 429, 'Too many requests')
  assert.ok(Number(limited.headers['retry-after']) > 0)
})

test('401: a ban, a new password and a removed factor end open challenges', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const mia = await member(service)
  const { code } = await turnOn(service, mia)
  const forBan = await firstStep(service, mia)
  await caller(service, boss)('POST', `/users/${mia.id}/ban`)
  await caller(service, boss)('POST', `/users/${mia.id}/unban`)
  refused(await secondStep(service, { challenge: forBan, code: code() }), 401, 'Invalid challenge')
  const forRemoval = await firstStep(service, mia)
  assert.equal((await caller(service, mia)('DELETE', `${PATH}/totp`)).statusCode, 204)
  refused(await secondStep(service, { challenge: forRemoval, code: code() }), 401, 'Invalid challenge')
})

test('403: what changes the ways in needs a session of the last ten minutes, and a confirmation renews it', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const call = caller(service, mia)
  refused(await caller(service, await keyHolder(service, mia))('POST', `${PATH}/totp`), 403, 'Not enough permissions')
  service.clock.advance({ minutes: 11 })
  refused(await call('POST', `${PATH}/totp`), 403, 'Confirm that it is you')
  refused(await call('POST', '/users/me/confirm', { password: 'not this one' }), 400, 'Wrong email or password')
  refused(await call('POST', '/users/me/confirm', { code: '123456' }), 400, 'Invalid code')
  assert.equal((await call('POST', '/users/me/confirm', {})).statusCode, 422)
  assert.equal((await call('POST', '/users/me/confirm', { password: mia.password, code: '123456' })).statusCode, 422)
  assert.equal((await call('POST', '/users/me/confirm', { password: mia.password })).statusCode, 204)
  assert.equal((await call('POST', `${PATH}/totp`)).statusCode, 201)
})

test('a session that was opened before gets its second factor by a code', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const other = (await service.app.inject(login(mia))).json()
  const { code } = await turnOn(service, mia)
  const headers = { authorization: `Bearer ${other.token}` }
  refused(await service.app.inject({ url: '/auth/check?second_factor=true', headers }), 403, 'Second factor required')
  assert.equal((await caller(service, { headers })('POST', '/users/me/confirm', { code: code() })).statusCode, 204)
  assert.equal((await service.app.inject({ url: '/auth/check?second_factor=true', headers })).statusCode, 200)
})

test('400: codes are on once, off once, and nothing is on before a right code', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const call = caller(service, mia)
  refused(await call('POST', `${PATH}/totp/confirm`, { code: '123456' }), 400, 'Invalid code')
  refused(await call('DELETE', `${PATH}/totp`), 400, 'Second factor is not on')
  refused(await call('POST', `${PATH}/recovery-codes`), 400, 'Second factor is not on')
  const { secret, uri } = (await call('POST', `${PATH}/totp`)).json()
  assert.match(secret, /^[A-Z2-7]{32}$/)
  assert.equal(new URL(uri).searchParams.get('secret'), secret)
  assert.equal((await service.app.inject(login(mia))).statusCode, 200)
  await turnOn(service, mia)
  refused(await call('POST', `${PATH}/totp`), 400, 'Second factor is already on')
  assert.deepEqual((await call('GET', PATH)).json(), { totp: true, passkeys: 0, recovery_codes: 10, required: false })
  const { recovery_codes: renewed } = (await call('POST', `${PATH}/recovery-codes`)).json()
  assert.equal(new Set(renewed).size, 10)
  assert.equal((await call('DELETE', `${PATH}/totp`)).statusCode, 204)
  assert.deepEqual((await call('GET', PATH)).json(), { totp: false, passkeys: 0, recovery_codes: 0, required: false })
  assert.equal((await service.app.inject(login(mia))).statusCode, 200)
})

test('an admin resets everything, and the sessions end', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const mia = await member(service)
  await turnOn(service, mia)
  assert.equal((await caller(service, boss)('DELETE', `/users/${mia.id}/second-factor`)).statusCode, 204)
  refused(await caller(service, mia)('GET', '/users/me'), 401, 'That token is Invalid')
  assert.equal((await service.app.inject(login(mia))).statusCode, 200)
  refused(await caller(service, mia)('DELETE', `/users/${boss.id}/second-factor`), 401, 'That token is Invalid')
})

test('403: a session that is not confirmed sets no password of an account with a second factor', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { code } = await turnOn(service, mia)
  service.clock.advance({ minutes: 11 })
  const call = caller(service, mia)
  const keyed = caller(service, await keyHolder(service, mia))
  refused(await call('POST', `/users/${mia.id}/password`, { password: 'another good one' }), 403, 'Confirm that it is you')
  refused(await call('PUT', `/users/${mia.id}`, { password: 'another good one' }), 403, 'Confirm that it is you')
  refused(await keyed('POST', `/users/${mia.id}/password`, { password: 'another good one' }), 403, 'Confirm that it is you')
  assert.equal((await call('POST', '/users/me/confirm', { code: code() })).statusCode, 204)
  assert.equal((await call('POST', `/users/${mia.id}/password`, { password: 'another good one' })).statusCode, 204)
})

test('429: a new address does not begin the count of wrong codes anew', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  await turnOn(service, mia)
  const call = caller(service, mia)
  for (let n = 0; n < 10; n++) refused(await call('POST', '/users/me/confirm', { code: '000000' }), 400, 'Invalid code')
  assert.equal((await call('PUT', `/users/${mia.id}`, { email: `new-${mia.email}` })).statusCode, 200)
  refused(await call('POST', '/users/me/confirm', { code: '000000' }), 429, 'Too many requests')
})

for (const rule of ['admins', 'everybody'])
  test(`403: with ${rule}, an admin who has a factor uses it before anything that gives or replaces one`, async (t) => {
    const service = await startApp(t, { env: { SECOND_FACTOR: rule } })
    const boss = await admin(service)
    const { headers } = boss
    const plain = (await service.app.inject(login(boss))).json().token
    await turnOn(service, { headers })
    const call = caller(service, { headers: { authorization: `Bearer ${plain}` } })
    for (const [method, url, payload] of [
      ['POST', `${PATH}/totp`, undefined],
      ['POST', `${PATH}/recovery-codes`, undefined],
      ['DELETE', `${PATH}/totp`, undefined],
      ['POST', '/users/me/passkeys/options', undefined],
      ['POST', '/users/keys', { name: 'x', scopes: [] }],
      ['POST', '/auth/token', {}],
    ] as const)
      refused(await call(method, url, payload), 403, 'Second factor required')
    assert.equal((await call('GET', PATH)).statusCode, 200)
  })
