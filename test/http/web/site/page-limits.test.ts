import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import { Refusal } from '../../../../src/model/refusal.ts'
import { createPasswords } from '../../../../src/security/password.ts'
import { type Actor, admin, member } from '../../../support/app/actors.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { credentials, sessionCookie, signIn, submit, textOf } from '../../../support/http/pages.ts'
import { forgotPassword, login, newEmail, resetPassword } from '../../../support/http/requests.ts'

const ATTACKER = '192.0.2.66'
const OWNER = '198.51.100.7'

function from(remoteAddress: string, request: InjectOptions): InjectOptions {
  return { ...request, remoteAddress }
}

async function statusOf({ app }: TestApp, request: InjectOptions): Promise<number> {
  return (await app.inject(request)).statusCode
}

function newPassword(current: string, next = current): Record<string, string> {
  return { current_password: current, new_password: next, confirm_password: next }
}

test('429: a right password on a page frees no place that another request has taken', async (t) => {
  const service = await startApp(t, { env: { RATE_LIMITS: 'login:ip=5/h,login:account=10/h', SELF_DELETION: 'true' } })
  const eve = await admin(service)
  let cookie = await signIn(service.app, eve)
  const guess = () => statusOf(service, from('127.0.0.1', login({ email: newEmail(), password: 'wrong password' })))
  for (let round = 0; round < 4; round++) assert.equal(await guess(), 400)
  for (let round = 0; round < 3; round++) {
    const changed = await service.app.inject(submit('/account/password', newPassword(eve.password), cookie))
    assert.equal(changed.statusCode, 303)
    cookie = sessionCookie(changed)
    service.clock.advance({ seconds: 1 })
    assert.equal(await statusOf(service, submit('/account/delete', { password: eve.password }, cookie)), 400, 'the last admin cannot leave')
  }
  assert.equal(await guess(), 400)
  assert.equal(await guess(), 429)
  service.clock.advance({ minutes: 12 })
  const again = submit(`/console/users/${eve.id}/make-admin`, { password: eve.password }, cookie)
  // The password is required again. One place is free for its check, and is free afterwards; another is not.
  for (let round = 0; round < 3; round++) assert.notEqual(await statusOf(service, again), 429)
  assert.equal(await guess(), 400)
  assert.equal(await guess(), 429)
})

test('429: every page that compares a password is limited with the default settings', async (t) => {
  const guesses: Readonly<Record<string, (cookie: string, id: number) => InjectOptions>> = {
    'sign-in': () => submit('/account/sign-in', { email: 'mia@example.com', password: 'a wrong guess' }),
    'console sign-in': () => submit('/console/sign-in', { email: 'mia@example.com', password: 'a wrong guess' }),
    'password change': (cookie) => submit('/account/password', newPassword('a wrong guess', 'a brand new one'), cookie),
    deletion: (cookie) => submit('/account/delete', { password: 'a wrong guess' }, cookie),
    'password again': (cookie, id) => submit(`/console/users/${id}/make-admin`, { password: 'a wrong guess' }, cookie),
  }
  for (const [name, guess] of Object.entries(guesses)) {
    const service = await startApp(t, { env: { SELF_DELETION: 'true' } })
    const mia = await admin(service, { email: 'mia@example.com' })
    const cookie = await signIn(service.app, mia)
    service.clock.advance({ minutes: 11 })
    for (let round = 0; round < 10; round++) assert.ok([400, 422].includes(await statusOf(service, guess(cookie, mia.id))), name)
    const limited = await service.app.inject(guess(cookie, mia.id))
    assert.deepEqual([limited.statusCode, limited.headers['retry-after']], [429, '6'], name)
    assert.match(textOf(limited), /Too many attempts/)
  }
})

test('503: an attempt that could not compare the password does not count', async (t) => {
  const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  let isFull = false
  const matches: typeof passwords.matches = async (...given) => {
    if (isFull) throw new Refusal('unavailable', 'the password queue is full')
    return passwords.matches(...given)
  }
  const env = { RATE_LIMITS: 'login:ip=3/h,login:account=2/h', SELF_DELETION: 'true' }
  const service = await startApp(t, { env, passwords: { ...passwords, matches } })
  const mia = await admin(service)
  const cookie = await signIn(service.app, mia)
  isFull = true
  const attempts = [
    login({ email: mia.email }),
    submit('/account/sign-in', credentials(mia)),
    submit('/account/password', newPassword(mia.password), cookie),
    submit('/account/delete', { password: mia.password }, cookie),
    { method: 'DELETE', url: '/users/me', headers: mia.headers, payload: { password: mia.password } },
  ] as const
  for (const attempt of attempts) for (let round = 0; round < 3; round++) assert.equal(await statusOf(service, attempt), 503)
  isFull = false
  const wrong = login({ email: mia.email, password: 'wrong password' })
  assert.deepEqual([await statusOf(service, wrong), await statusOf(service, wrong), await statusOf(service, wrong)], [400, 400, 429])
})

test('503: an attempt counts if it fails after the password was hashed, in whatever way, and the next one is 429', async (t) => {
  const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  let failsLate = false
  const matches: typeof passwords.matches = async (...given) => {
    const isMatch = await passwords.matches(...given)
    if (failsLate) throw new Refusal('unavailable', 'the database did not answer')
    return isMatch
  }
  const attempts: Readonly<Record<string, (mia: Actor, cookie: string) => InjectOptions>> = {
    login: ({ email }) => login({ email }),
    'sign-in': (mia) => submit('/account/sign-in', credentials(mia)),
    'password change': ({ password }, cookie) => submit('/account/password', newPassword(password), cookie),
    'deletion page': ({ password }, cookie) => submit('/account/delete', { password }, cookie),
    deletion: ({ headers, password }) => ({ method: 'DELETE', url: '/users/me', headers, payload: { password } }),
  }
  for (const [name, attempt] of Object.entries(attempts)) {
    const env = { RATE_LIMITS: 'login:account=2/h', SELF_DELETION: 'true' }
    const service = await startApp(t, { env, passwords: { ...passwords, matches } })
    const mia = await admin(service)
    const cookie = await signIn(service.app, mia)
    failsLate = true
    const seen: number[] = []
    for (let round = 0; round < 3; round++) seen.push(await statusOf(service, attempt(mia, cookie)))
    assert.deepEqual(seen, [503, 503, 429], name)
    failsLate = false
  }
})

test('303: during an attack on a sign-in page, a login to the API or a password reset lets the owner in', async (t) => {
  for (const way of ['login', 'reset'] as const) {
    const service = await startApp(t)
    const mia = await member(service)
    const attack = () => statusOf(service, from(ATTACKER, submit('/account/sign-in', { email: mia.email, password: 'a wrong guess' })))
    const owner = (password: string) => statusOf(service, from(OWNER, submit('/account/sign-in', { email: mia.email, password })))
    for (let round = 0; round < 10; round++) assert.equal(await attack(), 400)
    assert.equal(await owner(mia.password), 429)
    if (way === 'login') {
      assert.equal(await statusOf(service, from(OWNER, login({ email: mia.email }))), 200)
      assert.equal(await owner(mia.password), 303)
    } else {
      await service.app.inject(from(OWNER, forgotPassword(mia.email)))
      const code = await service.mailbox.codeFor(mia.email)
      assert.equal(await statusOf(service, from(OWNER, resetPassword({ code, new_password: 'a brand new one' }))), 200)
      assert.equal(await owner('a brand new one'), 303)
    }
    assert.equal(await attack(), 429)
  }
})

test('429: Retry-After is that of the longest limit, and a request that an account limit refuses counts for its address', async (t) => {
  const service = await startApp(t, { env: { RATE_LIMITS: 'standard', METRICS_ENABLED: 'true' } })
  const mia = await member(service)
  const guess = (email: string) => service.app.inject(from(ATTACKER, submit('/account/sign-in', { email, password: 'a wrong guess' })))
  const passed = await Promise.all(Array.from({ length: 10 }, () => guess(mia.email)))
  assert.deepEqual([...new Set(passed.map(({ statusCode }) => statusCode))], [400])
  // One after the other: of two requests at once, each may take the last place of another limit, and then both are refused.
  const limited: Awaited<ReturnType<typeof guess>>[] = []
  for (let round = 0; round < 6; round++) limited.push(await guess(mia.email))
  assert.deepEqual([...new Set(limited.map(({ statusCode }) => statusCode))], [429])
  assert.deepEqual([...new Set(limited.map(({ headers }) => headers['retry-after']))], ['360'])
  // Each is one refused request, though two limits of this name refuse it.
  const { body } = await service.app.inject('/metrics')
  assert.match(body, /^latchkey_rate_limited_requests_total\{limit="login:account"\} 6$/m)
  service.clock.advance({ seconds: 359 })
  assert.equal((await guess(mia.email)).headers['retry-after'], '1')
  service.clock.advance({ seconds: 1 })
  assert.equal((await guess(mia.email)).statusCode, 400)
  // The 18 guesses of this account have used 18 of 60 places of the address, of which six minutes have freed six, and one more frees another.
  const others: number[] = []
  for (let round = 0; round < 49; round++) {
    if (round === 28) service.clock.advance({ minutes: 1 })
    others.push((await guess(newEmail())).statusCode)
  }
  assert.deepEqual(others, [...Array(49).fill(400)])
  assert.equal((await guess(newEmail())).statusCode, 429)
})
