import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { isWellFormedApiKey } from '../../../../src/security/api-key-secret.ts'
import { statement } from '../../../../src/storage/database.ts'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'

type Actor = { readonly headers: Readonly<Record<string, string>> }
type KeyView = { id: string; name: string; created_at: string; is_active: boolean; scopes: string[] }

const STORED = statement<Record<string, unknown>>('select * from api_keys where id = $1')
const END_SESSIONS = statement('delete from sessions')
const UNVERIFY = statement('update users set verified = false')
const COUNT = statement<{ count: number }>('select count(*) as count from api_keys')

async function countKeys({ db }: TestApp): Promise<number | undefined> {
  return (await db.first(COUNT))?.count
}

async function created({ app }: TestApp, { headers }: Actor, payload: object = { name: 'ci' }): Promise<KeyView & { key: string }> {
  const response = await app.inject({ method: 'POST', url: '/users/keys', headers, payload })
  assert.equal(response.statusCode, 200, response.body)
  return response.json()
}

function viewOf({ key: _, ...view }: KeyView & { key: string }): KeyView {
  return view
}

test('200: the response to a creation contains the key, which works and is stored only as a hash', async (t) => {
  const testApp = await startApp(t)
  const { app, clock, db } = testApp
  const mia = await member(testApp)
  const payload = { name: '  deploy  ', scopes: ['read', 'write'] }
  const response = await app.inject({ method: 'POST', url: '/users/keys', headers: mia.headers, payload })
  assert.equal(response.statusCode, 200)
  const { id, key, ...rest } = response.json<KeyView & { key: string }>()
  assert.deepEqual(rest, {
    name: 'deploy',
    created_at: new Date(clock.now()).toISOString(),
    is_active: true,
    scopes: ['read', 'write'],
  })
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.ok(isWellFormedApiKey(key))

  const me = await app.inject({ url: '/users/keys', headers: { 'x-api-key': key } })
  assert.deepEqual(me.json(), [{ id, ...rest }])
  const stored = await db.first(STORED, id)
  assert.equal(stored?.['key_hash'], createHash('sha256').update(key).digest('hex'))
  assert.ok(!JSON.stringify(stored).includes(key), 'the key itself is stored')
})

test('200: a list of many keys is complete and in order, and reads at most 50 rows at once', async (t) => {
  const testApp = await startApp(t)
  const { app, db, services } = testApp
  const boss = await admin(testApp)
  const mia = await member(testApp)
  const lists = [
    { url: '/users/keys', headers: mia.headers },
    { url: `/users/keys/by-user/${mia.id}`, headers: boss.headers },
  ]
  const names: string[] = []
  let mostRows = 0
  const all = db.all
  // Counts the rows of each read.
  db.all = async (statement, ...values) => {
    const rows = await all(statement, ...values)
    mostRows = Math.max(mostRows, rows.length)
    return rows
  }
  for (const count of [49, 50, 51, 100, 130]) {
    while (names.length < count) {
      const name = `key ${names.length}`
      await services.apiKeys.create(OPERATOR, mia.id, { name, scopes: ['a', 'b'] })
      names.push(name)
    }
    for (const request of lists) {
      const response = await app.inject(request)
      assert.equal(response.statusCode, 200)
      assert.equal(response.headers['content-type'], 'application/json; charset=utf-8')
      assert.deepEqual(
        response.json<KeyView[]>().map(({ name }) => name),
        names,
      )
    }
  }
  assert.equal(mostRows, 50)
})

test('200: scopes are empty if they are omitted or null', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  assert.deepEqual((await created(testApp, mia, { name: 'a' })).scopes, [])
  assert.deepEqual((await created(testApp, mia, { name: 'b', scopes: null })).scopes, [])
})

test('200: a creation ignores fields that callers cannot set', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const max = await member(testApp)
  const foreign = { id: randomUUID(), user_id: max.id, key: 'lk_mine', is_active: false, created_at: '2001-01-01', last_used_at: 1 }
  const key = await created(testApp, mia, { name: 'mine', ...foreign })
  assert.notEqual(key.id, foreign.id)
  assert.notEqual(key.key, foreign.key)
  assert.equal(key.is_active, true)
  assert.deepEqual((await testApp.app.inject({ url: '/users/keys', headers: max.headers })).json(), [])
})

test('422: an invalid key is not created', async (t) => {
  const testApp = await startApp(t)
  const { app } = testApp
  const { headers } = await member(testApp)
  const attempt = (payload: object) => app.inject({ method: 'POST', url: '/users/keys', headers, payload })
  const name = (type: string) => ({ loc: ['body', 'name'], type })
  const scopes = (type: string, ...item: number[]) => ({ loc: ['body', 'scopes', ...item], type })
  invalid(await attempt({}), name('missing'))
  invalid(await attempt({ name: null }), name('string_type'))
  invalid(await attempt({ name: 5 }), name('string_type'))
  invalid(await attempt({ name: '' }), name('string_too_short'))
  invalid(await attempt({ name: ' \u3000 ' }), name('string_too_short'))
  invalid(await attempt({ name: 'n'.repeat(101) }), name('string_too_long'))
  invalid(await attempt({ name: 'a\u0000b' }), name('value_error'))
  invalid(await attempt({ name: 'a\ud800b' }), name('value_error'))
  invalid(await attempt({ name: 'a', scopes: 'read' }), scopes('list_type'))
  invalid(await attempt({ name: 'a', scopes: {} }), scopes('list_type'))
  invalid(await attempt({ name: 'a', scopes: Array(51).fill('x') }), scopes('too_long'))
  invalid(
    await attempt({ name: 'a', scopes: ['ok', 5, '', 'x'.repeat(101), 'a\nb'] }),
    scopes('string_type', 1),
    scopes('string_too_short', 2),
    scopes('string_too_long', 3),
    scopes('value_error', 4),
  )
  invalid(await attempt({ name: 5, scopes: 5 }), name('string_type'), scopes('list_type'))
  invalid(await attempt([]), { loc: ['body'], type: 'model_attributes_type' })
  assert.equal(await countKeys(testApp), 0)
})

test('200: limits count code points, and the longest values are accepted', async (t) => {
  const testApp = await startApp(t)
  const name = '🔑'.repeat(100)
  const scopes = Array<string>(50).fill('𝄞'.repeat(100))
  const key = await created(testApp, await member(testApp), { name, scopes })
  assert.deepEqual({ name: key.name, scopes: key.scopes }, { name, scopes })
})

test('200: users list their own keys in order of creation, without the key values', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const max = await member(testApp)
  const first = await created(testApp, mia, { name: 'first' })
  await created(testApp, max, { name: 'not mine' })
  const second = await created(testApp, mia, { name: 'second', scopes: ['a'] })
  for (const url of ['/users/keys', '/users/keys/', '/api/v1/users/keys']) {
    const response = await testApp.app.inject({ url, headers: mia.headers })
    assert.deepEqual(response.json(), [viewOf(first), viewOf(second)])
  }
})

test('200: a key is found by its id in any case, and shown without its value', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const key = await created(testApp, mia)
  for (const url of [`/users/keys/${key.id}`, `/users/keys/${key.id.toUpperCase()}/`]) {
    const response = await testApp.app.inject({ url, headers: mia.headers })
    assert.deepEqual({ status: response.statusCode, body: response.json() }, { status: 200, body: viewOf(key) })
  }
})

test('200: PATCH changes only name and is_active', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const key = await created(testApp, mia, { name: 'old', scopes: ['read'] })
  const change = async (payload: object) => {
    const response = await testApp.app.inject({ method: 'PATCH', url: `/users/keys/${key.id}`, headers: mia.headers, payload })
    assert.equal(response.statusCode, 200, response.body)
    return response.json<KeyView>()
  }
  assert.deepEqual(await change({ name: ' new ' }), { ...viewOf(key), name: 'new' })
  assert.deepEqual(await change({ is_active: false }), { ...viewOf(key), name: 'new', is_active: false })
  assert.deepEqual(await change({ name: 'newest', is_active: true }), { ...viewOf(key), name: 'newest' })
  const foreign = { scopes: ['admin'], id: randomUUID(), user_id: 1, key: 'lk_x', created_at: '2001-01-01', key_hash: 'x' }
  assert.deepEqual(await change({ name: 'newest', ...foreign }), { ...viewOf(key), name: 'newest' })
})

test('422: an invalid PATCH changes nothing', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const boss = await admin(testApp)
  const key = await created(testApp, mia)
  for (const [headers, url] of [
    [mia.headers, `/users/keys/${key.id}`],
    [boss.headers, `/users/keys/by-user/${mia.id}/${key.id}`],
  ] as const) {
    const attempt = (payload: object) => testApp.app.inject({ method: 'PATCH', url, headers, payload })
    invalid(await attempt({}), { loc: ['body'], type: 'value_error' })
    invalid(await attempt({ scopes: ['x'] }), { loc: ['body'], type: 'value_error' })
    invalid(await attempt({ is_active: 'true' }), { loc: ['body', 'is_active'], type: 'bool_type' })
    invalid(await attempt({ is_active: 1 }), { loc: ['body', 'is_active'], type: 'bool_type' })
    invalid(await attempt({ is_active: null }), { loc: ['body', 'is_active'], type: 'bool_type' })
    invalid(await attempt({ name: null, is_active: false }), { loc: ['body', 'name'], type: 'string_type' })
    invalid(await attempt({ name: '  ', is_active: false }), { loc: ['body', 'name'], type: 'string_too_short' })
  }
  const response = await testApp.app.inject({ url: `/users/keys/${key.id}`, headers: mia.headers })
  assert.deepEqual(response.json(), viewOf(key))
})

test('401: a disabled key is refused from the next request on, and works again once enabled', async (t) => {
  const testApp = await startApp(t)
  const { app } = testApp
  const mia = await member(testApp)
  const holder = await keyHolder(testApp, mia)
  const setActive = (is_active: boolean) =>
    app.inject({ method: 'PATCH', url: `/users/keys/${holder.keyId}`, headers: mia.headers, payload: { is_active } })
  await setActive(false)
  refused(await app.inject({ url: '/users/keys', headers: holder.headers }), 401, 'API key is inactive')
  await setActive(true)
  assert.equal((await app.inject({ url: '/users/keys', headers: holder.headers })).statusCode, 200)
})

test('401: an invalid bearer token is refused even with a valid key', async (t) => {
  const testApp = await startApp(t)
  const holder = await keyHolder(testApp, await member(testApp))
  const { token } = await member(testApp)
  await testApp.db.run(END_SESSIONS)
  for (const authorization of ['Bearer', 'bearer nonsense', 'Bearer a.b.c', `Bearer ${token}x`, `Bearer ${token}`]) {
    const headers = { ...holder.headers, authorization }
    refused(await testApp.app.inject({ url: '/users/me', headers }), 401, 'That token is Invalid')
  }
  const other = { ...holder.headers, authorization: 'Basic bWlhOm1pYQ==' }
  assert.equal((await testApp.app.inject({ url: '/users/me', headers: other })).statusCode, 200)
})

test('401: a key whose owner is not verified is refused', async (t) => {
  const testApp = await startApp(t)
  const holder = await keyHolder(testApp, await member(testApp))
  await testApp.db.run(UNVERIFY)
  refused(await testApp.app.inject({ url: '/users/me', headers: holder.headers }), 401, 'Invalid API key')
})

test('204: a deleted key is refused from the next request on', async (t) => {
  const testApp = await startApp(t)
  const { app } = testApp
  const mia = await member(testApp)
  const holder = await keyHolder(testApp, mia)
  const response = await app.inject({ method: 'DELETE', url: `/users/keys/${holder.keyId}`, headers: holder.headers })
  assert.deepEqual({ status: response.statusCode, body: response.body }, { status: 204, body: '' })
  refused(await app.inject({ url: '/users/keys', headers: holder.headers }), 401, 'Invalid API key')
  const again = await app.inject({ method: 'DELETE', url: `/users/keys/${holder.keyId}`, headers: mia.headers })
  refused(again, 404, 'API key not found')
  assert.equal(await countKeys(testApp), 0)
})

test('404: the key of another user is not found on the owner routes, not even by an admin', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const key = await created(testApp, mia)
  for (const other of [await member(testApp), await admin(testApp)]) {
    for (const id of [key.id, randomUUID()]) {
      for (const [method, payload] of [['GET'], ['PATCH', { is_active: false }], ['DELETE']] as const) {
        const response = await testApp.app.inject({ method, url: `/users/keys/${id}`, headers: other.headers, ...(payload && { payload }) })
        refused(response, 404, 'API key not found')
      }
    }
  }
  const response = await testApp.app.inject({ url: `/users/keys/${key.id}`, headers: mia.headers })
  assert.deepEqual(response.json(), viewOf(key))
})

test('200, 204: an admin lists, changes and deletes the keys of any user', async (t) => {
  const testApp = await startApp(t)
  const { app } = testApp
  const mia = await member(testApp)
  const { headers } = await admin(testApp)
  const key = await created(testApp, mia)
  const list = () => app.inject({ url: `/users/keys/by-user/${mia.id}`, headers })
  assert.deepEqual((await list()).json(), [viewOf(key)])

  const url = `/users/keys/by-user/${mia.id}/${key.id}`
  const changed = await app.inject({ method: 'PATCH', url, headers, payload: { name: 'seized', is_active: false, scopes: ['x'] } })
  assert.deepEqual(
    { status: changed.statusCode, body: changed.json() },
    { status: 200, body: { ...viewOf(key), name: 'seized', is_active: false } },
  )

  const deleted = await app.inject({ method: 'DELETE', url: `${url}/`, headers })
  assert.deepEqual({ status: deleted.statusCode, body: deleted.body }, { status: 204, body: '' })
  assert.deepEqual({ status: (await list()).statusCode, body: (await list()).json() }, { status: 200, body: [] })
})

test('404: the response to an admin says whether the user or the key does not exist', async (t) => {
  const testApp = await startApp(t)
  const { app } = testApp
  const boss = await admin(testApp)
  const mia = await member(testApp)
  const key = await created(testApp, mia)
  const { headers } = boss
  const everyRoute = [
    ['PATCH', { name: 'x' }],
    ['DELETE', undefined],
  ] as const
  for (const [method, payload] of everyRoute) {
    const attempt = (path: string) => app.inject({ method, url: `/users/keys/by-user/${path}`, headers, ...(payload && { payload }) })
    refused(await attempt(`999999/${key.id}`), 404, 'User not Found')
    refused(await attempt(`99999999999999999999999/${key.id}`), 404, 'User not Found')
    refused(await attempt(`${mia.id}/${randomUUID()}`), 404, 'API key not found')
    refused(await attempt(`${boss.id}/${key.id}`), 404, 'API key not found')
  }
  for (const id of ['0', '999999', '99999999999999999999999']) {
    refused(await app.inject({ url: `/users/keys/by-user/${id}`, headers }), 404, 'User not Found')
  }
  assert.equal(await countKeys(testApp), 1)
})

test('422: every key route refuses a malformed id', async (t) => {
  const testApp = await startApp(t)
  const { app } = testApp
  const { id, headers } = await admin(testApp)
  const uuid = randomUUID()
  const keyError = { loc: ['path', 'key_id'], type: 'uuid_parsing' }
  const userError = { loc: ['path', 'user_id'], type: 'int_parsing' }
  const badKeys = [
    '1',
    'null',
    uuid.replaceAll('-', ''),
    `{${uuid}}`,
    `${uuid}0`,
    `urn:uuid:${uuid}`,
    uuid.replace(/.$/, 'g'),
    '%00',
    '..%2f',
  ]
  const badUsers = ['me', '-1', '+1', '1.0', '1e3', '0x10', '%201', '1%20', '١', '%00', "1'--"]
  for (const [method, payload] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
    const attempt = (url: string) => app.inject({ method, url, headers, ...(payload && { payload }) })
    for (const bad of badKeys) invalid(await attempt(`/users/keys/${bad}`), keyError)
    if (method === 'GET') continue
    for (const bad of badKeys) invalid(await attempt(`/users/keys/by-user/${id}/${bad}`), keyError)
    for (const bad of badUsers) invalid(await attempt(`/users/keys/by-user/${bad}/${uuid}`), userError)
    invalid(await attempt('/users/keys/by-user/x/y'), userError, keyError)
  }
  for (const bad of badUsers) invalid(await app.inject({ url: `/users/keys/by-user/${bad}`, headers }), userError)
})

test('404: a key cannot be created for a deleted user', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  await testApp.services.userAdministration.remove(OPERATOR, mia.id)
  await assert.rejects(testApp.services.apiKeys.create(OPERATOR, mia.id, { name: 'late', scopes: [] }), { code: 'user_not_found' })
  assert.equal(await countKeys(testApp), 0)
})

test('503: during a database outage keys are neither listed nor created', async (t) => {
  const testApp = await startApp(t)
  const { headers } = await member(testApp)
  await testApp.db.close()
  refused(await testApp.app.inject({ url: '/users/keys', headers }), 503, 'Service Unavailable')
  refused(await testApp.app.inject({ method: 'POST', url: '/users/keys', headers, payload: { name: 'x' } }), 503, 'Service Unavailable')
})
