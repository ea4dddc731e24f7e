import assert from 'node:assert/strict'
import fc from 'fast-check'
import { generateApiKey } from '../../../../src/security/api-key-secret.ts'
import { anyText } from '../../../support/any-text.ts'
import { keyHolder, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'

const TYPE = 'latchkey_api_key'
const URL = 'https://github.com/octo/notes/blob/1/.env'

function report({ app }: TestApp, body: unknown) {
  return app.inject({ method: 'POST', url: '/auth/leaked', headers: { 'content-type': 'application/json' }, payload: JSON.stringify(body) })
}

const found = (token: string, url = URL) => ({ token, type: TYPE, url, source: 'content' })
const label = (token: string, isGenuine: boolean) => ({
  token_raw: token,
  token_type: TYPE,
  label: isGenuine ? 'true_positive' : 'false_positive',
})

function events({ logged }: TestApp, kind: string): Record<string, unknown>[] {
  return logged.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ event }) => event === kind)
}

test('200: a reported key is disabled, and its event names the URL', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const holder = await keyHolder(service, mia)
  const response = await report(service, [found(holder.key)])
  assert.deepEqual([response.statusCode, response.json()], [200, [label(holder.key, true)]])
  refused(await service.app.inject({ url: '/users/me', headers: holder.headers }), 401, 'API key is inactive')
  const [event, ...others] = events(service, 'key.leaked')
  assert.deepEqual([event?.['target'], event?.['keyId'], event?.['url'], event?.['actor']], [mia.id, holder.keyId, URL, undefined])
  assert.equal(others.length, 0)
})

test('200: every genuine key is a true positive, and everything else a false one, in the order of the body', async (t) => {
  const service = await startApp(t)
  const { app, clock, services } = service
  const mia = await member(service)
  const live = await keyHolder(service, mia)
  const disabled = await keyHolder(service, mia)
  await services.apiKeys.edit(OPERATOR, mia.id, disabled.keyId, { isActive: false })
  const expired = await keyHolder(service, mia, { expiresAt: clock.now() + 1 })
  const retiring = await keyHolder(service, mia)
  const { secret: current } = await services.apiKeys.rotate(OPERATOR, mia.id, retiring.keyId, 60)
  const replaced = await keyHolder(service, mia)
  await services.apiKeys.rotate(OPERATOR, mia.id, replaced.keyId)
  const deleted = await keyHolder(service, mia)
  await services.apiKeys.remove(OPERATOR, mia.id, deleted.keyId)
  const banned = await keyHolder(service, await member(service))
  await services.userAdministration.ban(OPERATOR, banned.id)
  clock.advance({ ms: 1 })

  const genuine = [live, disabled, expired, retiring, live, banned].map(({ key }) => key)
  const mistyped = live.key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
  const others = [replaced.key, deleted.key, generateApiKey('lk'), mistyped, 'text', 'x'.repeat(1000), mia.token]
  const response = await report(
    service,
    [...genuine, ...others].map((token) => found(token)),
  )
  assert.deepEqual(response.json(), [...genuine.map((token) => label(token, true)), ...others.map((token) => label(token, false))])

  const leaked = events(service, 'key.leaked').map(({ keyId }) => keyId)
  assert.deepEqual(leaked, [live.keyId, expired.keyId, retiring.keyId, banned.keyId], 'a key that was disabled before has no event')
  for (const key of [live.key, disabled.key, retiring.key, current]) {
    assert.equal((await app.inject({ url: '/users/me', headers: { 'x-api-key': key } })).statusCode, 401)
  }
  const again = await report(service, [found(live.key)])
  assert.deepEqual(again.json(), [label(live.key, true)])
  assert.equal(events(service, 'key.leaked').length, 4)
})

test('200: a key in the URL of a report does not reach the log', async (t) => {
  const service = await startApp(t)
  const holder = await keyHolder(service, await member(service))
  await report(service, [found(holder.key, `https://example.com/?key=${holder.key}&page=2`)])
  assert.equal(events(service, 'key.leaked')[0]?.['url'], 'https://example.com/?key=lk_…&page=2')
  assert.ok(!service.logged.join().includes(holder.key))
})

test('200: the URL and the source may be empty, null or left out', async (t) => {
  const service = await startApp(t)
  const token = 'text'
  const items = [
    { token, type: TYPE },
    { token, type: TYPE, url: null, source: null },
    { token, type: TYPE, url: '', source: '' },
  ]
  assert.deepEqual(
    (await report(service, items)).json(),
    items.map(() => label(token, false)),
  )
})

test('422: one broken item makes the whole report invalid, and no key is disabled', async (t) => {
  const service = await startApp(t)
  const holder = await keyHolder(service, await member(service))
  const good = found(holder.key)
  const item = (type: string, ...loc: string[]) => ({ loc: ['body', 1, ...loc], type })
  invalid(await report(service, [good, {}]), item('missing', 'token'), item('missing', 'type'))
  invalid(await report(service, [good, { ...good, token: 5 }]), item('string_type', 'token'))
  invalid(await report(service, [good, { ...good, token: '' }]), item('string_too_short', 'token'))
  invalid(await report(service, [good, { ...good, token: 'a\u0000b' }]), item('value_error', 'token'))
  invalid(await report(service, [good, { ...good, type: null }]), item('string_type', 'type'))
  invalid(await report(service, [good, { ...good, url: 5 }]), item('string_type', 'url'))
  invalid(await report(service, [good, { ...good, source: [] }]), item('string_type', 'source'))
  for (const broken of [null, 'text', 5, [good]]) invalid(await report(service, [good, broken]), item('model_attributes_type'))
  invalid(await report(service, []), { loc: ['body'], type: 'too_short' })
  invalid(await report(service, Array(101).fill(found('text'))), { loc: ['body'], type: 'too_long' })
  for (const broken of [good, null, 'text']) invalid(await report(service, broken), { loc: ['body'], type: 'list_type' })
  assert.equal((await service.app.inject({ url: '/users/me', headers: holder.headers })).statusCode, 200)
  assert.equal((await report(service, Array(100).fill(found('text')))).statusCode, 200)
})

test('200, 422: whatever is reported, the answer is never a 500', async (t) => {
  const service = await startApp(t)
  const text = fc.oneof(anyText({ maxLength: 60 }), fc.jsonValue())
  const items = fc.array(fc.oneof(fc.jsonValue(), fc.record({ token: text, type: text, url: text, source: text })), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(items, async (body) => {
      const response = await report(service, body)
      assert.ok([200, 422].includes(response.statusCode), `${response.statusCode} ${response.body}`)
    }),
    { numRuns: 60 },
  )
})

test('204: a key revokes itself, whatever its access; 400: a session has no key to revoke', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const mia = await member(service)
  for (const access of ['full', 'read', 'identify'] as const) {
    const holder = await keyHolder(service, mia, { access })
    const other = await keyHolder(service, mia, { access })
    const response = await app.inject({ method: 'DELETE', url: '/auth/key', headers: holder.headers })
    assert.deepEqual([response.statusCode, response.body], [204, ''])
    refused(await app.inject({ url: '/users/me', headers: holder.headers }), 401, 'API key is inactive')
    refused(await app.inject({ method: 'DELETE', url: '/auth/key', headers: holder.headers }), 401, 'API key is inactive')
    assert.equal((await app.inject({ url: '/users/me', headers: other.headers })).statusCode, 200)
    const view = await app.inject({ url: `/users/keys/${holder.keyId}`, headers: mia.headers })
    assert.equal(view.json<{ is_active: boolean }>().is_active, false)
  }
  assert.equal(events(service, 'key.revoked').length, 3)
  const { headers } = await keyHolder(service, mia)
  for (const session of [mia.headers, { ...headers, ...mia.headers }])
    refused(await app.inject({ method: 'DELETE', url: '/auth/key', headers: session }), 400, 'Only an API key can revoke itself')
  assert.equal((await app.inject({ url: '/users/me', headers })).statusCode, 200)
})
