import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'
import type { App } from '../../../../src/http/pipeline/declarations.ts'
import { type Actor, admin, type KeyHolder, keyHolder, member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { secondApp, startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { readList } from '../../../support/http/structured-fields.ts'

const PLANS = { PLANS: 'free=5/m,8/d pro=600/m,100000/d' }
const LIMITED = 'Too many requests'

function check({ app }: { readonly app: App }, { headers }: Pick<Actor, 'headers'>, query: Record<string, string> = {}) {
  return app.inject({ url: '/auth/check', headers, query })
}

/** The name, the quota and the window of each limit, and what is left of it for how long. */
function limitsOf({ headers }: LightMyRequestResponse) {
  const policies = readList(headers['ratelimit-policy']).map(({ value, parameters: { q, w } }) => [value, q, w])
  const left = readList(headers['ratelimit']).map(({ value, parameters: { r, t } }) => [value, r, t])
  return { policies, left }
}

async function statuses(service: { readonly app: App }, key: KeyHolder, count: number, query: Record<string, string> = {}) {
  const answers: number[] = []
  for (let index = 0; index < count; index++) answers.push((await check(service, key, query)).statusCode)
  return answers
}

test('429: a key passes as often as the plan allows, and each answer says what is left', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const key = await keyHolder(service, await member(service))
  const first = await check(service, key)
  assert.equal(first.statusCode, 200)
  const policies = [
    ['account-minute', 5, 60],
    ['account-day', 8, 86_400],
  ]
  const expected = [
    ['account-minute', 4, 60],
    ['account-day', 7, 86_400],
  ]
  assert.deepEqual(limitsOf(first), { policies, left: expected })
  service.clock.advance({ seconds: 20 })
  assert.deepEqual(await statuses(service, key, 4), [200, 200, 200, 200])
  const over = await check(service, key)
  refused(over, 429, LIMITED)
  assert.deepEqual([over.headers['retry-after'], over.headers['x-error-code']], ['40', 'too_many_requests'])
  const left = [
    ['account-minute', 0, 40],
    ['account-day', 3, 86_380],
  ]
  assert.deepEqual(limitsOf(over), { policies, left })
  // The window ends a minute after its first request; the day is over after three more.
  service.clock.advance({ seconds: 39 })
  assert.deepEqual(await statuses(service, key, 1), [429])
  service.clock.advance({ seconds: 1 })
  assert.deepEqual(await statuses(service, key, 4), [200, 200, 200, 429])
  service.clock.advance({ minutes: 2 })
  const day = await check(service, key)
  refused(day, 429, LIMITED)
  assert.equal(day.headers['retry-after'], String(86_400 - 180))
})

test('429: the keys of an account share its limits, and other accounts have their own', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const mia = await member(service)
  const [one, two] = [await keyHolder(service, mia), await keyHolder(service, mia)]
  assert.deepEqual(
    [await statuses(service, one, 3), await statuses(service, two, 3)],
    [
      [200, 200, 200],
      [200, 200, 429],
    ],
  )
  assert.deepEqual(await statuses(service, await keyHolder(service, await member(service)), 1), [200])
})

test('429: a key has a narrower limit of its own, with and without plans', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const mia = await member(service)
  const [narrow, other] = [await keyHolder(service, mia, { limit: '2/h' }), await keyHolder(service, mia)]
  const { policies, left } = limitsOf(await check(service, narrow))
  assert.deepEqual(policies.at(-1), ['key-hour', 2, 3600])
  assert.deepEqual(left.at(-1), ['key-hour', 1, 3600])
  assert.deepEqual(await statuses(service, narrow, 2), [200, 429])
  // The refusal has cost the account nothing.
  assert.deepEqual(await statuses(service, other, 4), [200, 200, 200, 429])
  const plain = await startApp(t)
  const alone = await keyHolder(plain, await member(plain), { limit: '2/s' })
  assert.deepEqual(await statuses(plain, alone, 3), [200, 200, 429])
  plain.clock.advance({ seconds: 1 })
  assert.deepEqual(await statuses(plain, alone, 1), [200])
})

test('200: without a limit there are no headers, and sessions are neither limited nor counted', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const mia = await member(service)
  for (let index = 0; index < 10; index++) {
    const response = await check(service, mia)
    assert.equal(response.statusCode, 200)
    assert.deepEqual([response.headers['ratelimit'], response.headers['ratelimit-policy']], [undefined, undefined])
  }
  const plain = await startApp(t)
  const key = await keyHolder(plain, await member(plain))
  const response = await check(plain, key)
  assert.deepEqual([response.statusCode, response.headers['ratelimit'], response.headers['ratelimit-policy']], [200, undefined, undefined])
})

test('403: ?limited=403 changes the status alone', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const key = await keyHolder(service, await member(service))
  await statuses(service, key, 5)
  const over = await check(service, key, { limited: '403' })
  refused(over, 403, LIMITED)
  assert.deepEqual([over.headers['retry-after'], over.headers['x-error-code']], ['60', 'too_many_requests'])
  assert.equal(limitsOf(over).left[0]?.[1], 0)
  assert.ok(!service.logged.some((line) => line.includes('account-minute')), 'a key beyond its limit is not logged')
})

test('429: ?cost= counts for more, and a cost above a whole limit never passes', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const key = await keyHolder(service, await member(service))
  const first = await check(service, key, { cost: '3' })
  assert.deepEqual(
    limitsOf(first).left.map(([, r]) => r),
    [2, 5],
  )
  assert.deepEqual(await statuses(service, key, 1, { cost: '3' }), [429])
  assert.deepEqual(await statuses(service, key, 1, { cost: '2' }), [200])
  assert.deepEqual(await statuses(service, key, 1), [429])
  const fresh = await keyHolder(service, await member(service))
  const never = await check(service, fresh, { cost: '6' })
  refused(never, 429, LIMITED)
  assert.equal(never.headers['retry-after'], '60')
  assert.equal(limitsOf(never).left[0]?.[1], 5)
  assert.deepEqual(await statuses(service, fresh, 6), [200, 200, 200, 200, 200, 429])
  for (const cost of ['0', '1001', '-1', '1.5', 'x', '']) assert.equal((await check(service, fresh, { cost })).statusCode, 422, cost)
})

test('403, 422: a refusal for another reason costs nothing, and says what is left', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const key = await keyHolder(service, await member(service), { scopes: ['a'] })
  await check(service, key)
  for (const [query, status] of [
    [{ role: 'admin' }, 403],
    [{ scope: 'b' }, 403],
    [{ cost: '0' }, 422],
  ] as const) {
    const response = await check(service, key, query)
    assert.equal(response.statusCode, status)
    assert.deepEqual(
      limitsOf(response).left.map(([, r]) => r),
      [4, 7],
    )
  }
  assert.deepEqual(await statuses(service, key, 5), [200, 200, 200, 200, 429])
})

test('200: the routes of Latchkey itself are not counted', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const key = await keyHolder(service, await member(service))
  for (let index = 0; index < 12; index++) {
    const response = await service.app.inject({ url: '/users/me', headers: key.headers })
    assert.deepEqual([response.statusCode, response.headers['ratelimit']], [200, undefined])
  }
  assert.deepEqual(await statuses(service, key, 1), [200])
})

test('200: a new plan and a new limit apply to the very next request, and what was used counts', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const [mia, boss] = [await member(service), await admin(service)]
  const key = await keyHolder(service, mia)
  assert.equal((await statuses(service, key, 6)).at(-1), 429)
  const put = await service.app.inject({ method: 'PUT', url: `/users/${mia.id}/plan`, headers: boss.headers, payload: { plan: 'pro' } })
  assert.equal(put.statusCode, 200)
  const response = await check(service, key)
  assert.equal(response.statusCode, 200)
  assert.deepEqual(
    limitsOf(response).left.map(([, r]) => r),
    [594, 99_994],
  )
  await service.services.apiKeys.edit(OPERATOR, mia.id, key.keyId, { limit: '1/m' })
  assert.deepEqual(await statuses(service, key, 2), [200, 429])
  await service.services.apiKeys.edit(OPERATOR, mia.id, key.keyId, { limit: null })
  assert.deepEqual(await statuses(service, key, 1), [200])
  await service.services.plans?.set(OPERATOR, mia.id, 'free')
  assert.deepEqual(await statuses(service, key, 1), [429])
})

test('429: two processes share one count, one after the other and at once', async (t) => {
  const service = await startApp(t, { env: { PLANS: 'free=60/m' } })
  const apps = [service, { app: await secondApp(t, service) }] as const
  const key = await keyHolder(service, await member(service))
  const answers: number[] = []
  for (let index = 0; index < 62; index++) answers.push((await check(apps[index % 2 === 0 ? 0 : 1], key)).statusCode)
  assert.deepEqual(answers, [...Array<number>(60).fill(200), 429, 429])
  const busy = await keyHolder(service, await member(service))
  const both = await Promise.all(Array.from({ length: 150 }, (_, index) => check(apps[index % 2 === 0 ? 0 : 1], busy)))
  assert.equal(both.filter(({ statusCode }) => statusCode === 200).length, 60)
  assert.equal(both.filter(({ statusCode }) => statusCode === 429).length, 90)
})

test('200: what a process holds and does not use passes elsewhere a round later', async (t) => {
  const service = await startApp(t, { env: { PLANS: 'free=1000/d' } })
  const other = { app: await secondApp(t, service) }
  const key = await keyHolder(service, await member(service))
  await check(service, key)
  const answers = await Promise.all(Array.from({ length: 1000 }, () => check(other, key)))
  const passed = answers.filter(({ statusCode }) => statusCode === 200).length
  assert.ok(passed >= 980 && passed < 1000, `${passed} passed`)
  // A key that is used now and then keeps its share of a long limit for ten rounds.
  for (let round = 0; round < 11; round++) await service.counting.round()
  service.clock.advance({ seconds: 1 })
  const later = await Promise.all(Array.from({ length: 30 }, () => check(other, key)))
  assert.equal(passed + later.filter(({ statusCode }) => statusCode === 200).length, 999)
})

test('200: a window that a wrong clock has begun is replaced', async (t) => {
  const service = await startApp(t, { env: { PLANS: 'free=2/m' } })
  const key = await keyHolder(service, await member(service))
  service.clock.advance({ days: 3 })
  assert.deepEqual(await statuses(service, key, 3), [200, 200, 429])
  service.clock.advance({ days: -3 })
  assert.deepEqual(await statuses(service, key, 3), [200, 200, 429])
})
