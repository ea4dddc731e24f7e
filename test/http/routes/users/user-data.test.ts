import assert from 'node:assert/strict'
import { MAX_LEVELS, MAX_OBJECT_BYTES } from '../../../../src/domain/values/json.ts'
import type { App } from '../../../../src/http/pipeline/declarations.ts'
import { type Actor, admin, keyHolder, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { storedEvents } from '../../../support/app/audit.ts'
import { secondApp, startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'

type Caller = Pick<Actor, 'headers'>

function read(app: App, { headers }: Caller, whose: number | 'me' = 'me') {
  return app.inject({ url: `/users/${whose}/data`, headers })
}

function patch(app: App, { headers }: Caller, body: unknown, whose: number | 'me' = 'me', type = 'application/json') {
  const payload = typeof body === 'string' ? body : JSON.stringify(body)
  return app.inject({ method: 'PATCH', url: `/users/${whose}/data`, headers: { ...headers, 'content-type': type }, payload })
}

const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as object

test('200: owners change their profile, admins both objects, and every answer is the whole', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const [mia, boss] = [await member(service), await admin(service)]
  assert.deepEqual((await read(app, mia)).json(), { profile: {}, app: {} })
  const first = await patch(app, mia, { profile: { theme: 'dark', address: { city: 'Bern', zip: '3011' } } })
  assert.deepEqual([first.statusCode, first.json()], [200, { profile: { theme: 'dark', address: { city: 'Bern', zip: '3011' } }, app: {} }])
  const byAdmin = await patch(app, boss, { app: { tenant: 'acme', roles: ['editor'] }, profile: { address: { zip: null } } }, mia.id)
  const expected = { profile: { theme: 'dark', address: { city: 'Bern' } }, app: { tenant: 'acme', roles: ['editor'] } }
  assert.deepEqual(byAdmin.json(), expected)
  assert.deepEqual((await read(app, mia)).json(), expected)
  assert.deepEqual((await read(app, boss, mia.id)).json(), expected)
  assert.deepEqual((await patch(app, mia, { profile: {} })).json(), expected)
  assert.deepEqual((await patch(app, mia, {}, 'me', 'application/merge-patch+json')).json(), expected)
  assert.deepEqual((await patch(app, boss, { profile: null }, mia.id)).json(), { ...expected, profile: {} })
  assert.deepEqual((await read(app, boss)).json(), { profile: {}, app: {} })
})

test('403: owners do not write app, admins neither by their own path, and nothing of the body is written', async (t) => {
  const service = await startApp(t)
  const { app } = service
  for (const caller of [await member(service), await admin(service)])
    for (const body of [{ app: { role: 'owner' } }, { app: null }, { profile: { theme: 'dark' }, app: {} }]) {
      refused(await patch(app, caller, body), 403, 'Not enough permissions')
      assert.deepEqual((await read(app, caller)).json(), { profile: {}, app: {} })
    }
})

test('403: a key that may only read changes nothing, and one that may only identify reads nothing', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const [reader, identifier] = [
    await keyHolder(service, mia, { access: 'read' }),
    await keyHolder(service, mia, { access: 'identify' }),
  ] as const
  assert.equal((await read(service.app, reader)).statusCode, 200)
  refused(await patch(service.app, reader, { profile: { a: 1 } }), 403, 'Not enough permissions')
  refused(await read(service.app, identifier), 403, 'Not enough permissions')
})

test('404: there is no such user', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  refused(await read(service.app, boss, 4711), 404, 'User not Found')
  refused(await patch(service.app, boss, { app: { a: 1 } }, 4711), 404, 'User not Found')
})

test('413: an object that would be too large is refused, also if the change is small, and stays as it is', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const [mia, boss] = [await member(service), await admin(service)]
  const fill = (bytes: number) => ({ a: 'x'.repeat(bytes - 8) })
  const full = fill(MAX_OBJECT_BYTES)
  assert.equal((await patch(app, mia, { profile: full })).statusCode, 200)
  // Both objects may be full.
  assert.equal((await patch(app, boss, { app: full }, mia.id)).statusCode, 200)
  refused(await patch(app, mia, { profile: { b: 1 } }), 413, 'Data is too large')
  refused(await patch(app, boss, { app: { b: 1 } }, mia.id), 413, 'Data is too large')
  refused(await patch(app, mia, { profile: fill(70_000) }), 413, 'Request body is too large')
  assert.deepEqual((await read(app, mia)).json(), { profile: full, app: full })
  // What replaces something large may be as large.
  assert.equal((await patch(app, mia, { profile: { a: null, b: full.a } })).statusCode, 200)
  const byKey = await keyHolder(service, mia)
  const checked = await app.inject({ url: '/auth/check?data=true', headers: byKey.headers })
  assert.deepEqual(checked.json().data, { profile: { b: full.a }, app: full })
})

test('422: a body that is no patch of objects, too deep or not JSON', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const boss = await admin(service)
  for (const value of ['text', 5, [1], true])
    invalid(await patch(app, boss, { profile: value, app: value }, boss.id), ...['profile', 'app'].map(wrongObject))
  for (const body of ['null', '[]', '5', '"text"']) invalid(await patch(app, boss, body), { loc: ['body'], type: 'model_attributes_type' })
  invalid(await patch(app, boss, '{'), { loc: ['body'], type: 'json_invalid' })
  invalid(await patch(app, boss, { profile: {} }, 'me', 'text/plain'), { loc: ['body'], type: 'model_attributes_type' })
  const tooDeep = { loc: ['body', 'profile'], type: 'value_error' }
  assert.equal((await patch(app, boss, { profile: nested(MAX_LEVELS) })).statusCode, 200)
  invalid(await patch(app, boss, { profile: nested(MAX_LEVELS + 1) }), tooDeep)
  invalid(await patch(app, boss, `{"profile":{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}}`), tooDeep)
  invalid(await patch(app, boss, '{"profile":{"a":1e999}}'), tooDeep)
  assert.deepEqual((await read(app, boss)).json(), { profile: nested(MAX_LEVELS), app: {} })
})

function wrongObject(name: string) {
  return { loc: ['body', name], type: 'model_attributes_type' }
}

test('200: any name and any text comes back as it was sent, and pollutes nothing', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const text = String.raw`{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},"\u0000\ud800":"\u0000\udfff😀","":[null,{"a":null}]}`
  const response = await patch(service.app, mia, `{"profile":${text},"__proto__":{"app":{"tenant":"acme"}}}`)
  assert.equal(response.statusCode, 200)
  const stored = (await read(service.app, mia)).body
  assert.equal(stored, `{"profile":${JSON.stringify(JSON.parse(text))},"app":{}}`)
  assert.equal(response.body, stored)
  assert.equal(({} as { isAdmin?: true }).isAdmin, undefined)
  await patch(service.app, mia, '{"profile":{"__proto__":null,"constructor":null}}')
  assert.deepEqual(Object.keys((await read(service.app, mia)).json().profile).length, 2)
})

test('200: of many patches at once, in two processes, none is lost', async (t) => {
  const service = await startApp(t)
  const apps = [service.app, await secondApp(t, service)] as const
  const [mia, boss] = [await member(service), await admin(service)]
  const byOwner = (n: number) => patch(apps[n % 2] ?? apps[0], mia, { profile: { [`f${n}`]: n, shared: { [`n${n}`]: n } } })
  const byAdmin = (n: number) => patch(apps[n % 2] ?? apps[0], boss, { app: { [`f${n}`]: n } }, mia.id)
  const numbers = Array.from({ length: 12 }, (_, n) => n)
  const responses = await Promise.all(numbers.flatMap((n) => [byOwner(n), byAdmin(n)]))
  assert.deepEqual(new Set(responses.map(({ statusCode }) => statusCode)), new Set([200]))
  const fields = Object.fromEntries(numbers.map((n) => [`f${n}`, n]))
  const shared = Object.fromEntries(numbers.map((n) => [`n${n}`, n]))
  assert.deepEqual((await read(service.app, mia)).json(), { profile: { ...fields, shared }, app: fields })
})

test('200: the check has data on request only, for a session and for a key of any access', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const identifier = await keyHolder(service, mia, { access: 'identify' })
  await service.services.productData.patch(OPERATOR, mia.id, { profile: { theme: 'dark' }, app: { first_name: 'kept' } })
  for (const { headers } of [mia, identifier]) {
    const check = (query: string) => service.app.inject({ url: `/auth/check${query}`, headers })
    const [plain, without, withData] = [await check(''), await check('?data=false'), await check('?data=true')]
    assert.equal('data' in plain.json(), false)
    assert.equal(without.body, plain.body)
    assert.deepEqual(withData.json(), { ...plain.json(), data: { profile: { theme: 'dark' }, app: { first_name: 'kept' } } })
    invalid(await check('?data=perhaps'), { loc: ['query', 'data'], type: 'bool_parsing' })
  }
})

test('an event names the changed fields of a change and never a value; a change of nothing leaves none', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const [mia, boss] = [await member(service), await admin(service)]
  await patch(app, mia, { profile: { theme: 'secret-value', address: { city: 'secret-value' } } })
  await patch(app, mia, { profile: { theme: 'secret-value', address: {}, nothing: null } })
  await patch(app, boss, { app: { tenant: 'secret-value' }, profile: { theme: null } }, mia.id)
  await patch(app, mia, { profile: Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${n}`.padStart(100, 'n'), n])) })
  const events = (await storedEvents(service.db)).filter(({ kind }) => kind === 'data.changed')
  assert.deepEqual(
    events.slice(0, 2).map(({ actor, target, detail }) => [actor, target, JSON.parse(String(detail))]),
    [
      [mia.id, mia.id, { changed: ['profile.theme', 'profile.address'] }],
      [boss.id, mia.id, { changed: ['profile.theme', 'app.tenant'] }],
    ],
  )
  assert.equal(events.length, 3)
  const { changed } = JSON.parse(String(events[2]?.detail)) as { changed: string[] }
  assert.deepEqual([changed.length, changed.at(-1), Math.max(...changed.map(({ length }) => length))], [21, '…', 64])
  assert.doesNotMatch(JSON.stringify([events, service.logged]), /secret-value/)
})

test('data goes with its account', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  await patch(service.app, mia, { profile: { theme: 'dark' } })
  await service.services.userAdministration.remove(OPERATOR, mia.id)
  refused(await read(service.app, await admin(service), mia.id), 404, 'User not Found')
})
