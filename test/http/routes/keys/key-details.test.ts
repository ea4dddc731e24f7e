import assert from 'node:assert/strict'
import fc from 'fast-check'
import { statement } from '../../../../src/storage/database.ts'
import { anyText } from '../../../support/any-text.ts'
import { type Actor, admin, keyHolder, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { until } from '../../../support/app/eventually.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'

type Details = {
  id: string
  key: string
  prefix: string | null
  access: string
  expires_at: string | null
  last_used_at: string | null
  retiring_until: string | null
}

const FORGET_PREFIX = statement('update api_keys set prefix = null where id = $1')
const COUNT = statement<{ count: number }>('select count(*) as count from api_keys')
const DAY_MS = 24 * 60 * 60 * 1000

async function created({ app }: TestApp, { headers }: Actor, payload: object, query = '?details=true'): Promise<Details> {
  const response = await app.inject({ method: 'POST', url: `/users/keys${query}`, headers, payload: { name: 'ci', ...payload } })
  assert.equal(response.statusCode, 200, response.body)
  return response.json()
}

const iso = (time: number) => new Date(time).toISOString()

test('200: every route that returns a key view adds the details when they are requested, and only then', async (t) => {
  const service = await startApp(t)
  const { app, clock } = service
  const mia = await member(service)
  const boss = await admin(service)
  const expiresAt = iso(clock.now() + DAY_MS)
  const key = await created(service, mia, { access: 'read', expires_at: expiresAt, scopes: ['a'] })
  const details = {
    prefix: key.key.slice(0, 9),
    access: 'read',
    expires_at: expiresAt,
    last_used_at: null,
    limit: null,
    retiring_until: null,
  }
  const view = { id: key.id, name: 'ci', created_at: iso(clock.now()), is_active: true, scopes: ['a'] }
  assert.deepEqual(key, { ...view, ...details, key: key.key })

  const own = `/users/keys/${key.id}`
  const requests = [
    { method: 'GET', url: own, headers: mia.headers },
    { method: 'GET', url: '/users/keys', headers: mia.headers, isList: true },
    { method: 'PATCH', url: own, headers: mia.headers, payload: { name: 'ci' } },
    { method: 'GET', url: `/users/keys/by-user/${mia.id}`, headers: boss.headers, isList: true },
    { method: 'PATCH', url: `/users/keys/by-user/${mia.id}/${key.id}`, headers: boss.headers, payload: { name: 'ci' } },
  ] as const
  for (const { isList = false, ...request } of requests.map((each) => ({ isList: false, ...each }))) {
    for (const query of ['', '?details=false', '?details=0', '?other=true']) {
      const { statusCode, body } = await app.inject({ ...request, url: request.url + query })
      assert.deepEqual([statusCode, body], [200, JSON.stringify(isList ? [view] : view)], `${request.method} ${request.url}${query}`)
    }
    for (const query of ['?details=true', '?details=YES', '?details=1']) {
      const body = (await app.inject({ ...request, url: request.url + query })).json()
      assert.deepEqual(body, isList ? [{ ...view, ...details }] : { ...view, ...details })
    }
    invalid(await app.inject({ ...request, url: `${request.url}?details=maybe` }), { loc: ['query', 'details'], type: 'bool_parsing' })
    invalid(await app.inject({ ...request, url: `${request.url}?details=true&details=true` }), {
      loc: ['query', 'details'],
      type: 'value_error',
    })
  }
})

test('200: a key that is created without details has the specified view, byte for byte', async (t) => {
  const service = await startApp(t)
  const { headers } = await member(service)
  const payload = { name: 'ci', scopes: ['a'], access: 'identify', expires_at: '2999-01-01T00:00:00Z' }
  const { body } = await service.app.inject({ method: 'POST', url: '/users/keys', headers, payload })
  const { id, key, created_at } = JSON.parse(body) as { id: string; key: string; created_at: string }
  assert.equal(body, `{"id":"${id}","name":"ci","created_at":"${created_at}","is_active":true,"scopes":["a"],"key":"${key}"}`)
})

test('200: the details of a key of an older version, and of one that was used', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { id, key } = await created(service, mia, {})
  await service.db.run(FORGET_PREFIX, id)
  const url = `/users/keys/${id}?details=true`
  assert.equal((await service.app.inject({ url, headers: { 'x-api-key': key } })).json<Details>().prefix, null)
  const lastUsed = async () => (await service.app.inject({ url, headers: mia.headers })).json<Details>().last_used_at
  await until('the record of the use', async () => (await lastUsed()) === iso(service.clock.now()))
})

test('200: access and expiry have defaults, and null is no expiry', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  for (const payload of [{}, { expires_at: null }, { access: 'full' }]) {
    const { access, expires_at } = await created(service, mia, payload)
    assert.deepEqual([access, expires_at], ['full', null])
  }
  const offset = await created(service, mia, { expires_at: '2999-01-01T01:00:00.5+01:00' })
  assert.equal(offset.expires_at, '2999-01-01T00:00:00.500Z')
})

test('422: an expiry that is not a future date with an offset, and an unknown access, create no key', async (t) => {
  const service = await startApp(t)
  const { app, clock, db } = service
  const { headers } = await member(service)
  const attempt = (fields: object) => app.inject({ method: 'POST', url: '/users/keys', headers, payload: { name: 'ci', ...fields } })
  const expiry = (type: string) => ({ loc: ['body', 'expires_at'], type })
  for (const expires_at of [
    '2999-01-01',
    '2999-01-01T00:00:00',
    '2999-02-30T00:00:00Z',
    'never',
    '',
    5,
    true,
    [],
    {},
    ['2999-01-01T00:00:00Z'],
  ])
    invalid(await attempt({ expires_at }), expiry('datetime_parsing'))
  for (const expires_at of ['2001-01-01T00:00:00Z', iso(clock.now()), iso(clock.now() - 1)])
    invalid(await attempt({ expires_at }), expiry('datetime_future'))
  for (const access of ['', 'FULL', 'write', 'admin', null, 5, ['read']])
    invalid(await attempt({ access }), { loc: ['body', 'access'], type: 'enum' })
  assert.equal((await db.first(COUNT))?.count, 0)
  assert.equal((await attempt({ expires_at: iso(clock.now() + 1) })).statusCode, 200)
})

test('401: a key expires on time, and works again after its expiry is removed', async (t) => {
  const service = await startApp(t)
  const { app, clock } = service
  const mia = await member(service)
  const { id, key } = await created(service, mia, { expires_at: iso(clock.now() + 60_000) })
  const use = () => app.inject({ url: '/users/me', headers: { 'x-api-key': key } })
  clock.advance({ ms: 59_999 })
  assert.equal((await use()).statusCode, 200)
  clock.advance({ ms: 1 })
  refused(await use(), 401, 'API key has expired')

  const change = (expires_at: unknown) =>
    app.inject({ method: 'PATCH', url: `/users/keys/${id}?details=true`, headers: mia.headers, payload: { expires_at } })
  invalid(await change(iso(clock.now())), { loc: ['body', 'expires_at'], type: 'datetime_future' })
  invalid(await change('soon'), { loc: ['body', 'expires_at'], type: 'datetime_parsing' })
  refused(await use(), 401, 'API key has expired')
  assert.equal((await change(null)).json<Details>().expires_at, null)
  assert.equal((await use()).statusCode, 200)
  const later = iso(clock.now() + DAY_MS)
  assert.equal((await change(later)).json<Details>().expires_at, later)
  const renamed = await app.inject({ method: 'PATCH', url: `/users/keys/${id}?details=true`, headers: mia.headers, payload: { name: 'b' } })
  assert.equal(renamed.json<Details>().expires_at, later, 'a change of the name leaves the expiry as it is')
})

test('401, 422: whatever the expiry, the access and the details are, the answer is never a 500', async (t) => {
  const service = await startApp(t)
  const { headers, keyId } = await keyHolder(service, await member(service))
  const value = fc.oneof(
    fc.jsonValue(),
    anyText(),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  )
  await fc.assert(
    fc.asyncProperty(value, value, anyText(), async (expires_at, access, details) => {
      const query = { details: details.toWellFormed() }
      for (const [method, url] of [
        ['POST', '/users/keys'],
        ['PATCH', `/users/keys/${keyId}`],
      ] as const) {
        const response = await service.app.inject({ method, url, headers, query, payload: { name: 'ci', expires_at, access } as object })
        assert.ok([200, 401, 422].includes(response.statusCode), `${method} ${response.statusCode} ${response.body}`)
      }
    }),
    { numRuns: 60 },
  )
})
