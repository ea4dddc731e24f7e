import assert from 'node:assert/strict'
import { test as plainTest } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { sessionCookie, signIn, submit, textOf, visit } from '../../../support/http/pages.ts'

const KEY_SCOPES = 'reports:read, reports:write,a'

async function start(t: Parameters<typeof startApp>[0], env: Record<string, string> = { KEY_SCOPES }) {
  const service = await startApp(t, { env })
  const mia = await member(service)
  const cookie = await signIn(service.app, mia)
  const look = (path: string, by = cookie) => service.app.inject(visit(`/account/keys${path}`, by))
  const send = (path: string, fields: Record<string, string> = {}, by = cookie) =>
    service.app.inject(submit(`/account/keys${path}`, fields, by))
  const keys = async (userId = mia.id) => {
    const found = []
    for await (const page of await service.services.apiKeys.list(OPERATOR, userId)) found.push(...page)
    return found
  }
  const works = async (secret: string) =>
    (await service.app.inject({ url: '/users/me', headers: { 'x-api-key': secret } })).statusCode === 200
  return { ...service, service, mia, cookie, look, send, keys, works }
}

/** The cookie with the sealed secret, as a browser sends it back. */
function flashOf({ headers }: LightMyRequestResponse): string {
  const cookies = [headers['set-cookie'] ?? []].flat()
  return cookies.find((cookie) => cookie.startsWith('latchkey-secret='))?.split(';')[0] ?? assert.fail('no secret')
}

function secretOf({ body }: LightMyRequestResponse): string | undefined {
  return /id="key"[^>]* value="([^"]+)"/.exec(body)?.[1]
}

test('303: a new key is shown once, and a reload creates no second one', async (t) => {
  const { send, look, keys, works, cookie } = await start(t)
  const fields = { name: ' Nightly ', scope_0: 'reports:read', scope_1: 'reports:write', access: 'read', expires_at: '2999-01-31' }
  const created = await send('', fields)
  const [key, ...others] = await keys()
  assert.deepEqual(others, [])
  assert.deepEqual([created.statusCode, created.headers.location], [303, `/account/keys/${key?.id}`])
  assert.deepEqual(
    [key?.name, key?.scopes, key?.access, key?.expiresAt],
    ['Nightly', ['reports:read', 'reports:write'], 'read', Date.UTC(2999, 0, 31, 23, 59, 59, 999)],
  )
  const flash = flashOf(created)
  assert.match(String(created.headers['set-cookie']), /latchkey-secret=[^;]+; Max-Age=60; Path=\/; HttpOnly; SameSite=Lax/)
  const shown = await look(`/${key?.id}`, `${cookie}; ${flash}`)
  const secret = secretOf(shown) ?? assert.fail('the key is not shown')
  assert.ok(await works(secret))
  assert.match(String(shown.headers['set-cookie']), /^latchkey-secret=; Max-Age=0;/)
  assert.ok(!flash.includes(secret) && !Buffer.from(flash.split('.')[1] ?? '', 'base64url').includes(secret), 'the cookie is encrypted')
  assert.equal(secretOf(await look(`/${key?.id}`)), undefined)
  assert.equal((await keys()).length, 1)
})

test('the form offers the scopes of KEY_SCOPES as a list, and no field for them without it', async (t) => {
  const { look, send } = await start(t)
  const form = (await look('/new')).body
  for (const [index, scope] of ['reports:read', 'reports:write', 'a'].entries())
    assert.ok(form.includes(`<input type="checkbox" name="scope_${index}" value="${scope}">`), scope)
  const again = (await send('', { name: '', scope_1: 'reports:write' })).body
  assert.match(again, /name="scope_1" value="reports:write" checked/)
  assert.doesNotMatch(again, /name="scope_0" value="reports:read" checked/)
  const without = await start(t, {})
  assert.doesNotMatch((await without.look('/new')).body, /scope/i)
  assert.equal((await without.send('', { name: 'x', scope_0: 'reports:read', scopes: 'reports:read' })).statusCode, 303)
  const [key] = await without.keys()
  assert.deepEqual([key?.scopes, key?.access], [[], 'identify'])
})

test('the sealed secret opens for one minute, in its session and for its key only', async (t) => {
  const { service, app, send, look, keys, mia, cookie, clock } = await start(t)
  const flash = flashOf(await send('', { name: 'one' }))
  await send('', { name: 'two' })
  const [one, two] = await keys()
  const page = async (id: string | undefined, by: string) => secretOf(await look(`/${id}`, by))
  assert.equal(await page(two?.id, `${cookie}; ${flash}`), undefined, 'another key')
  assert.equal(await page(one?.id, `${await signIn(app, mia)}; ${flash}`), undefined, 'another session')
  const stranger = await signIn(app, await member(service))
  assert.equal((await look(`/${one?.id}`, `${stranger}; ${flash}`)).statusCode, 404, 'another user')
  for (const forged of ['latchkey-secret=x', 'latchkey-secret=v1.', `${flash}x`, flash.replace('=v1.', '=v1.A'), 'latchkey-secret=v1.AAAA'])
    assert.equal(await page(one?.id, `${cookie}; ${forged}`), undefined, forged)
  assert.notEqual(await page(one?.id, `${cookie}; ${flash}`), undefined)
  clock.advance({ seconds: 61 })
  assert.equal(await page(one?.id, `${cookie}; ${flash}`), undefined, 'too late')
})

test('303: a rotated key is shown once, and its former secret ends at once or after the overlap', async (t) => {
  const { service, send, look, works, mia, cookie, clock } = await start(t)
  const { keyId, key } = await keyHolder(service, mia)
  const rotated = await send(`/${keyId}/rotate`, { overlap_seconds: '3600' })
  assert.deepEqual([rotated.statusCode, rotated.headers.location], [303, `/account/keys/${keyId}`])
  const shown = await look(`/${keyId}`, `${cookie}; ${flashOf(rotated)}`)
  const second = secretOf(shown) ?? assert.fail('the key is not shown')
  assert.match(textOf(shown), /Former secret works until/)
  assert.deepEqual([await works(key), await works(second)], [true, true])
  clock.advance({ hours: 2 })
  assert.deepEqual([await works(key), await works(second)], [false, true])
  assert.equal((await send(`/${keyId}/rotate`, { password: mia.password })).statusCode, 303)
  assert.equal(await works(second), false)
  assert.equal((await send(`/${keyId}/rotate`, { overlap_seconds: '2592001' })).statusCode, 422)
})

test('303: a key is disabled, enabled again and deleted', async (t) => {
  const { service, send, look, keys, works, mia } = await start(t)
  const { keyId, key } = await keyHolder(service, mia)
  for (const [action, isWorking, button] of [
    ['disable', false, 'Enable'],
    ['enable', true, 'Disable'],
  ] as const) {
    const done = await send(`/${keyId}/${action}`)
    assert.deepEqual([done.statusCode, done.headers.location], [303, `/account/keys/${keyId}`])
    assert.equal(await works(key), isWorking)
    assert.match((await look(`/${keyId}`)).body, new RegExp(`<button>${button}</button>`))
  }
  assert.equal((await send(`/${keyId}/delete`)).headers.location, '/account/keys')
  assert.deepEqual(await keys(), [])
  assert.equal(await works(key), false)
})

const ASKED = [
  ['a user', member, ['full', 'read']],
  ['an admin', admin, ['full', 'read', 'identify']],
] as const

for (const [who, create, asked] of ASKED) {
  test(`403: ${who} who gave the password over ten minutes ago gives it again to create, rotate or enable a key with ${asked.join(' or ')} access`, async (t) => {
    const { service, app, clock, services, keys } = await start(t)
    const eve = await create(service)
    const before = await signIn(app, eve)
    for (const access of asked) {
      clock.advance({ minutes: 11 })
      const { keyId, key } = await keyHolder(service, eve, { access })
      await services.apiKeys.edit(OPERATOR, eve.id, keyId, { isActive: false })
      const known = await keys(eve.id)
      const forms: [path: string, fields: Record<string, string>, action: string][] = [
        ['', { name: 'nightly', access, scope_2: 'a', expires_at: '2999-01-31' }, 'create this key'],
        [`/${keyId}/rotate`, { overlap_seconds: '60' }, 'rotate this key'],
        [`/${keyId}/enable`, {}, 'enable this key'],
      ]
      for (const [path, fields, action] of forms) {
        const question = await app.inject(submit(`/account/keys${path}`, fields, before))
        assert.equal(question.statusCode, 403, path)
        assert.match(textOf(question), new RegExp(`Confirm your password .* Enter it again to ${action}\\.`))
        assert.ok(question.body.includes(`href="/account/keys${path && `/${keyId}`}">Cancel</a>`), 'Cancel leads back')
        for (const [name, value] of Object.entries(fields)) assert.ok(question.body.includes(`name="${name}" value="${value}"`), name)
        const wrong = await app.inject(submit(`/account/keys${path}`, { ...fields, password: 'not the password' }, before))
        assert.deepEqual([wrong.statusCode, wrong.headers['set-cookie']], [400, undefined])
        assert.match(textOf(wrong), /Confirm your password/)
        clock.advance({ minutes: 1 })
      }
      assert.deepEqual(await keys(eve.id), known)
      assert.equal((await app.inject(submit(`/account/keys/${keyId}/disable`, {}, before))).statusCode, 303, 'disabling needs no password')
      for (const [path, fields] of forms) {
        const done = await app.inject(submit(`/account/keys${path}`, { ...fields, password: eve.password }, before))
        assert.equal(done.statusCode, 303, path)
        if (path.endsWith('enable')) continue
        const shown = await app.inject(visit(String(done.headers.location), `${before}; ${flashOf(done)}`))
        assert.match(String(secretOf(shown)), /^lk_/)
      }
      assert.equal((await keys(eve.id)).length, known.length + 1, 'each form did its work once')
      assert.equal((await app.inject({ url: '/users/me', headers: { 'x-api-key': key } })).statusCode, 401, 'rotated')
    }
  })
}

test('303: a user who is not an admin needs no password for a key that only identifies', async (t) => {
  const { service, send, mia, clock } = await start(t)
  const { keyId } = await keyHolder(service, mia, { access: 'identify' })
  clock.advance({ minutes: 11 })
  assert.equal((await send('', { name: 'nightly', access: 'identify' })).statusCode, 303)
  for (const action of ['rotate', 'disable', 'enable']) assert.equal((await send(`/${keyId}/${action}`)).statusCode, 303, action)
})

test('403: a key created without the question cannot set a new password', async (t) => {
  const { app, send, keys, look, cookie, mia, clock } = await start(t)
  clock.advance({ minutes: 11 })
  const created = await send('', { name: 'nightly' })
  const [key] = await keys()
  assert.equal(key?.access, 'identify', 'the access of a form that does not name one')
  const secret = secretOf(await look(`/${key?.id}`, `${cookie}; ${flashOf(created)}`)) ?? assert.fail('the key is not shown')
  const url = `/users/${mia.id}/password`
  const set = await app.inject({ method: 'POST', url, headers: { 'x-api-key': secret }, payload: { password: 'a brand new one' } })
  assert.equal(set.statusCode, 403)
  await signIn(app, mia)
})

test('200: the form offers a key that only identifies first, and keeps another choice', async (t) => {
  const { look, send } = await start(t)
  const chosen = (body: string) => {
    const options = [...body.matchAll(/<option value="(\w+)"( selected)?>/g)]
    return (options.find(([, , selected]) => selected) ?? options[0])?.[1]
  }
  assert.equal(chosen((await look('/new')).body), 'identify')
  const again = await send('', { name: '', access: 'read' })
  assert.deepEqual([again.statusCode, chosen(again.body)], [422, 'read'])
})

test('404 and 422: keys of others do not exist, and a bad form comes back with its values', async (t) => {
  const { service, send, look, keys } = await start(t)
  const stranger = await member(service)
  const { keyId, key } = await keyHolder(service, stranger)
  assert.equal((await look(`/${keyId}`)).statusCode, 404)
  for (const action of ['rotate', 'disable', 'enable', 'delete']) assert.equal((await send(`/${keyId}/${action}`)).statusCode, 404, action)
  assert.equal((await service.app.inject({ url: '/users/me', headers: { 'x-api-key': key } })).statusCode, 200)
  const bad: [Record<string, string>, RegExp][] = [
    [{}, /is required/],
    [{ name: ' ' }, /Name is required/],
    [{ name: 'x'.repeat(101) }, /Name should have at most 100 characters/],
    [{ name: 'x', access: 'admin' }, /./],
    [{ name: 'x', expires_at: '2020-01-01' }, /This should be in the future/],
    [{ name: 'x', expires_at: '2999-02-31' }, /This should be a date such as/],
    [{ name: 'x', expires_at: 'tomorrow' }, /This should be a date such as/],
    [{ name: 'x', scope_0: 'reports:delete' }, /This scope does not exist/],
    [{ name: 'x', scope_0: 'y'.repeat(101) }, /should have at most 100 characters/],
  ]
  for (const [fields, message] of bad) {
    const response = await send('', fields)
    assert.equal(response.statusCode, 422, JSON.stringify(fields).slice(0, 80))
    assert.match(textOf(response), message)
  }
  assert.deepEqual(await keys(), [])
})

plainTest('200: many keys are shown in pages that stay small', async (t) => {
  const { service, look, mia } = await start(t)
  for (let n = 1; n <= 51; n++) await service.services.apiKeys.create(OPERATOR, mia.id, { name: `key ${n}`, scopes: [] })
  const first = await look('')
  assert.match(textOf(first), /key 1 .*key 25 .*Next →/)
  assert.ok(Buffer.byteLength(first.body) < 45_000, String(Buffer.byteLength(first.body)))
  assert.match(textOf(await look('?page=2')), /key 26 .*key 50 .*← Previous Next →/)
  const last = await look('?page=3')
  assert.match(textOf(last), /key 51 .*← Previous/)
  assert.ok(!last.body.includes('rel="next"'))
  assert.equal((await look('?page=0')).statusCode, 422)
  assert.equal((await look('?page=41')).statusCode, 422)
})

const MARKUP = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'><svg/onload=alert(1)>",
  '</title><b>',
  '&lt;b&gt;',
  '{{7*7}}',
  'javascript:alert(1)',
]

plainTest('markup in a name, a key, a scope, a form or a user agent is shown as text, wherever it appears', async (t) => {
  const { service, app, mia } = await start(t, {})
  for (const text of MARKUP) {
    await service.services.users.edit(OPERATOR, mia.id, { firstName: text, lastName: text })
    const { id } = await service.services.apiKeys.create(OPERATOR, mia.id, { name: text, scopes: [text.replaceAll(' ', '')] })
    const form = submit('/account/sign-in', { email: mia.email, password: mia.password })
    const signedIn = await app.inject({ ...form, headers: { ...form.headers, 'user-agent': text } })
    const cookie = sessionCookie(signedIn)
    const pages = [
      ...(await Promise.all(['', 'sessions', 'keys', `keys/${id}`].map((path) => app.inject(visit(`/account/${path}`, cookie))))),
      await app.inject(submit('/account/keys', { name: text, scope_0: text, expires_at: text }, cookie)),
      await app.inject(submit('/account/', { first_name: '', last_name: text }, cookie)),
      await app.inject(submit('/account/email', { email: text }, cookie)),
      await app.inject(submit('/account/register', { first_name: text, last_name: text, email: text, password: 'x' })),
      await app.inject(submit('/account/forgot-password', { email: text })),
      await app.inject(visit(`/account/sign-in?next=${encodeURIComponent(text)}`)),
    ]
    for (const { body } of pages) assert.doesNotMatch(body, /<(?:script>|img src=x|svg|b>)|href="javascript/i, text)
    await service.services.sessions.revokeAll(OPERATOR, mia.id)
    service.clock.advance({ minutes: 1 })
  }
})
