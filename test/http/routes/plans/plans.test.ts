import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { admin, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { storedEvents } from '../../../support/app/audit.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'

const PLANS = { PLANS: 'free=60/m,1000/d pro=600/m,100000/d' }
const FREE = { plan: 'free', limits: ['60/m', '1000/d'] }
const PRO = { plan: 'pro', limits: ['600/m', '100000/d'] }

const OLD_PLAN = statement("update users set plan = 'gold' where id = $1")

type Caller = { readonly headers: Readonly<Record<string, string>> }

function read({ app }: Pick<TestApp, 'app'>, { headers }: Caller, whose: number | 'me' = 'me') {
  return app.inject({ url: `/users/${whose}/plan`, headers })
}

function change({ app }: Pick<TestApp, 'app'>, { headers }: Caller, userId: number, payload: object) {
  return app.inject({ method: 'PUT', url: `/users/${userId}/plan`, headers, payload })
}

test('200: everybody has the first plan until an admin chooses another, and the trail says so once', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const [mia, boss] = [await member(service), await admin(service)]
  assert.deepEqual((await read(service, mia)).json(), FREE)
  const changed = await change(service, boss, mia.id, { plan: 'pro' })
  assert.deepEqual([changed.statusCode, changed.json()], [200, PRO])
  assert.deepEqual((await change(service, boss, mia.id, { plan: 'pro' })).json(), PRO)
  assert.deepEqual([(await read(service, mia)).json(), (await read(service, boss, mia.id)).json()], [PRO, PRO])
  assert.deepEqual((await read(service, boss)).json(), FREE)
  const events = (await storedEvents(service.db)).filter(({ kind }) => kind === 'user.plan_changed')
  assert.deepEqual(
    events.map(({ actor, target, detail }) => [actor, target, JSON.parse(String(detail))]),
    [[boss.id, mia.id, { changed: ['plan'] }]],
  )
})

test('422: an unknown plan, and a body without one, change nothing', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const [mia, boss] = [await member(service), await admin(service)]
  const unknown = await change(service, boss, mia.id, { plan: 'gold' })
  assert.equal(unknown.statusCode, 422)
  assert.deepEqual(unknown.json(), { detail: [{ loc: ['body', 'plan'], msg: 'This plan does not exist', type: 'value_error' }] })
  for (const payload of [{}, { plan: null }, { plan: 7 }]) assert.equal((await change(service, boss, mia.id, payload)).statusCode, 422)
  assert.deepEqual((await read(service, mia)).json(), FREE)
})

test('403, 404: users do not choose their plan, and an unknown account has none', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const [mia, boss] = [await member(service), await admin(service)]
  refused(await change(service, mia, mia.id, { plan: 'pro' }), 403, 'Not enough permissions')
  refused(await read(service, boss, 4711), 404, 'User not Found')
  refused(await change(service, boss, 4711, { plan: 'pro' }), 404, 'User not Found')
})

test('404: without PLANS there are no plans', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  for (const response of [
    await read(service, boss),
    await read(service, boss, boss.id),
    await change(service, boss, boss.id, { plan: 'free' }),
  ])
    refused(response, 404, 'Not Found')
})

test('200: a plan that the settings no longer have counts as the first', async (t) => {
  const service = await startApp(t, { env: PLANS })
  const mia = await member(service)
  await service.db.run(OLD_PLAN, mia.id)
  assert.deepEqual((await read(service, mia)).json(), FREE)
})

test('200: a key has a limit: created, shown on request, changed and removed', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const { headers } = await member(service)
  const created = await app.inject({ method: 'POST', url: '/users/keys?details=true', headers, payload: { name: 'one', limit: '10/m' } })
  assert.deepEqual([created.statusCode, created.json().limit], [200, '10/m'])
  const url = `/users/keys/${created.json().id}`
  assert.equal('limit' in (await app.inject({ url, headers })).json(), false)
  const patch = (payload: object) => app.inject({ method: 'PATCH', url: `${url}?details=true`, headers, payload })
  assert.equal((await patch({ limit: '5/s' })).json().limit, '5/s')
  assert.equal((await patch({ name: 'two' })).json().limit, '5/s')
  assert.equal((await app.inject({ method: 'POST', url: `${url}/rotate?details=true`, headers })).json().limit, '5/s')
  assert.equal((await patch({ limit: null })).json().limit, null)
  const none = await app.inject({ method: 'POST', url: '/users/keys?details=true', headers, payload: { name: 'two', limit: null } })
  assert.equal(none.json().limit, null)
  for (const limit of ['0/m', '10', '10/w', '10/m,5/s', ' 10/m', '1e3/m', '99999999999/m', '', 10]) {
    const response = await app.inject({ method: 'POST', url: '/users/keys', headers, payload: { name: 'three', limit } })
    assert.equal(response.statusCode, 422, String(limit))
  }
  invalid(await patch({ limit: '0/m' }), { loc: ['body', 'limit'], type: 'value_error' })
})
