import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import { boundPort } from '../../../../src/shared/addresses.ts'
import { statement } from '../../../../src/storage/database.ts'
import { anyText } from '../../../support/any-text.ts'
import { type Actor, admin, keyHolder, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { until } from '../../../support/app/eventually.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { startListening } from '../../../support/client/listening.ts'
import { test } from '../../../support/databases/databases.ts'
import { payloadOf } from '../../../support/http/forged-tokens.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { headAnswer } from '../../../support/http/raw-answer.ts'

const SCOPE_TOKEN = /^[!#-[\]-~]+$/
const FORBIDDEN = 'Not enough permissions'

function check({ app }: TestApp, { headers }: Pick<Actor, 'headers'>, query: Record<string, string> = {}) {
  return app.inject({ url: '/auth/check', headers, query })
}

function identityHeaders({ headers }: LightMyRequestResponse): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('latchkey')))
}

test('200: the identity of a session, in the body and in headers', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { sid, exp } = payloadOf(mia.token)
  const response = await check(service, mia)
  assert.equal(response.statusCode, 200)
  assert.deepEqual(response.json(), {
    user_id: mia.id,
    email: mia.email,
    first_name: 'Mia',
    last_name: 'Muster',
    role: 'user',
    method: 'session',
    session_id: sid,
    key_id: null,
    scopes: null,
    second_factor: false,
    expires_at: new Date(Number(exp) * 1000).toISOString(),
  })
  assert.deepEqual(identityHeaders(response), {
    latchkeyuser: String(mia.id),
    latchkeyemail: mia.email,
    latchkeyrole: 'user',
    latchkeymethod: 'session',
    latchkeyscopes: '',
    latchkeykey: '',
  })
  assert.equal(response.headers['cache-control'], 'no-store')
})

test('200: the identity of an API key, with and without an expiry', async (t) => {
  const service = await startApp(t)
  const mia = await admin(service)
  const expiresAt = service.clock.now() + 60_000
  const scopes = ['reports:read', 'two words', 'quo"te', 'back\\slash', 'größe', 'b']
  for (const expiry of [undefined, expiresAt]) {
    const holder = await keyHolder(service, mia, { scopes, expiresAt: expiry })
    const response = await check(service, holder)
    assert.equal(response.statusCode, 200)
    assert.deepEqual(response.json(), {
      user_id: mia.id,
      email: mia.email,
      first_name: 'Mia',
      last_name: 'Muster',
      role: 'admin',
      method: 'api_key',
      session_id: null,
      key_id: holder.keyId,
      scopes,
      second_factor: null,
      expires_at: expiry === undefined ? null : new Date(expiresAt).toISOString(),
    })
    assert.deepEqual(identityHeaders(response), {
      latchkeyuser: String(mia.id),
      latchkeyemail: mia.email,
      latchkeyrole: 'admin',
      latchkeymethod: 'api_key',
      latchkeyscopes: 'reports:read b',
      latchkeykey: holder.keyId,
    })
  }
})

test('200: HEAD returns the same status and headers without a body, and the path also answers under /api/v1', async (t) => {
  const service = await startListening(t)
  const mia = await member(service)
  const { status, header, body } = await headAnswer(`${service.url}/auth/check`, mia.headers)
  assert.deepEqual([status, header('latchkeyuser'), body], [200, String(mia.id), ''])
  const got = await fetch(`${service.url}/auth/check`, { headers: mia.headers })
  assert.equal(header('content-length'), got.headers.get('content-length'))
  const denied = await service.app.inject({ method: 'HEAD', url: '/auth/check?role=admin', headers: mia.headers })
  assert.deepEqual([denied.statusCode, identityHeaders(denied)], [403, {}])
  assert.equal((await service.app.inject({ url: '/api/v1/auth/check/', headers: mia.headers })).statusCode, 200)
})

test('200, 403: a role and scopes can be required', async (t) => {
  const service = await startApp(t)
  const [mia, boss] = [await member(service), await admin(service)]
  const holder = await keyHolder(service, mia, { scopes: ['a', 'b', 'ü'] })
  const ofAdmin = await keyHolder(service, boss)
  for (const [caller, query, status] of [
    [mia, { role: 'admin' }, 403],
    [boss, { role: 'admin' }, 200],
    [holder, { role: 'admin' }, 403],
    [ofAdmin, { role: 'admin' }, 200],
    [ofAdmin, { role: 'admin', scope: 'a' }, 403],
    [mia, { scope: 'anything at all' }, 200],
    [mia, { scope: 'a', role: 'admin' }, 403],
    [holder, { scope: 'a' }, 200],
    [holder, { scope: 'b a' }, 200],
    [holder, { scope: '  b   a ' }, 200],
    [holder, { scope: 'ü' }, 200],
    [holder, { scope: 'a c' }, 403],
    [holder, { scope: 'A' }, 403],
    [holder, { scope: 'a,b' }, 403],
    [holder, { scope: '*' }, 403],
    [holder, { unknown: 'ignored' }, 200],
  ] as const) {
    const response = await check(service, caller, query)
    assert.equal(response.statusCode, status, JSON.stringify(query))
    if (status === 403) {
      refused(response, 403, FORBIDDEN)
      assert.deepEqual(identityHeaders(response), {}, 'a refusal says nothing about the caller')
    }
  }
})

test('422: a role other than admin, a scope that names none, and a repeated parameter', async (t) => {
  const service = await startApp(t)
  const { headers } = await keyHolder(service, await admin(service))
  const get = (query: string) => service.app.inject({ url: `/auth/check?${query}`, headers })
  const role = await get('role=user')
  invalid(role, { loc: ['query', 'role'], type: 'enum' })
  assert.equal(role.json().detail[0].msg, "Input should be 'admin'")
  for (const query of ['role=', 'role=Admin', 'role=%00']) invalid(await get(query), { loc: ['query', 'role'], type: 'enum' })
  for (const query of ['scope=', 'scope=+', 'scope=%20%20'])
    invalid(await get(query), { loc: ['query', 'scope'], type: 'string_too_short' })
  for (const query of ['scope=a&scope=b', 'scope=%FF', 'scope=a%00b'])
    invalid(await get(query), { loc: ['query', 'scope'], type: 'value_error' })
  invalid(await get('x=1&x=2'), { loc: ['query', 'x'], type: 'value_error' })
})

test('401: every revocation applies to the next request', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  refused(await check(service, { headers: {} }), 401, 'Not authenticated. Use either JWT token or API key.')
  refused(await check(service, { headers: { authorization: 'Bearer ' } }), 401, 'That token is Invalid')
  refused(await check(service, { headers: { authorization: `Bearer ${mia.refresh}` } }), 401, 'That token is Invalid')
  const disabled = await keyHolder(service, mia)
  const expiring = await keyHolder(service, mia, { expiresAt: service.clock.now() + 1000 })
  const lasting = await keyHolder(service, mia)
  for (const caller of [disabled, expiring, lasting, mia]) assert.equal((await check(service, caller)).statusCode, 200)
  await service.services.apiKeys.edit(OPERATOR, mia.id, disabled.keyId, { isActive: false })
  refused(await check(service, disabled), 401, 'API key is inactive')
  service.clock.advance({ seconds: 1 })
  refused(await check(service, expiring), 401, 'API key has expired')
  await service.services.userAdministration.ban(OPERATOR, mia.id)
  refused(await check(service, lasting), 401, 'Invalid API key')
  refused(await check(service, mia), 401, 'That token is Invalid')
})

/** A GET request with a body, over a real connection. */
async function getWithBody(port: number, headers: Record<string, string>, body: string): Promise<[number, string]> {
  const sent = request({ port, host: '127.0.0.1', path: '/auth/check', headers, agent: false })
  sent.on('error', () => undefined).end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return [response.statusCode ?? 0, await text(response)]
}

test('200: a body is ignored, whatever its size and its type', async (t) => {
  const service = await startApp(t)
  const { headers } = await member(service)
  await service.app.listen({ port: 0 })
  const port = boundPort(service.app.server)
  const types = ['application/json', 'text/plain', 'multipart/form-data', 'not a type', 'application/json; charset=;;']
  for (const type of types)
    for (const body of ['{', 'x'.repeat(200_000)])
      for (const framing of [{ 'content-length': String(body.length) }, { 'transfer-encoding': 'chunked' }]) {
        const [status, answer] = await getWithBody(port, { ...headers, 'content-type': type, ...framing } as Record<string, string>, body)
        assert.equal(status, 200, `${type}: ${answer}`)
      }
})

test('200: a check is one read and no write', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const holder = await keyHolder(service, mia)
  await check(service, holder)
  await until('the first use is recorded', async () => (await service.services.apiKeys.find(mia.id, holder.keyId)).lastUsedAt !== undefined)
  const calls: string[] = []
  for (const name of ['first', 'all', 'run', 'transaction'] as const) {
    const original = service.db[name] as (...args: unknown[]) => unknown
    const counting = (...args: unknown[]) => {
      calls.push(name)
      return original(...args)
    }
    Object.assign(service.db, { [name]: counting })
  }
  for (const caller of [mia, holder]) {
    assert.equal((await check(service, caller, { scope: 'a' })).statusCode, caller === mia ? 200 : 403)
    assert.deepEqual(calls.splice(0), ['first'])
  }
})

const EMAIL = statement('update users set email = $2, first_name = $3 where id = $1')
const SCOPES = statement('update api_keys set scopes = $2 where id = $1')

test('any e-mail address, name and scopes make a valid response whose headers name scope-tokens only', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const holder = await keyHolder(service, mia)
  const scope = fc.oneof(anyText({ minLength: 1, maxLength: 20 }), fc.string({ minLength: 1, maxLength: 100 }))
  const people = fc.record({ email: fc.emailAddress(), name: fc.string({ unit: 'grapheme', maxLength: 100 }), scopes: fc.array(scope) })
  await fc.assert(
    fc.asyncProperty(people, async ({ email, name, scopes }) => {
      const stored = scopes.filter((text) => text.isWellFormed() && !/\p{Cc}/u.test(text))
      await service.db.run(EMAIL, mia.id, email, name)
      await service.db.run(SCOPES, holder.keyId, JSON.stringify(stored))
      const response = await check(service, holder)
      assert.equal(response.statusCode, 200, response.body)
      assert.deepEqual(response.json().scopes, stored)
      assert.equal(response.headers['latchkeyemail'], email)
      const named = String(response.headers['latchkeyscopes']).split(' ').filter(Boolean)
      assert.deepEqual(
        named,
        stored.filter((text) => SCOPE_TOKEN.test(text)),
      )
    }),
    { numRuns: t.database === 'postgres' ? 40 : 150 },
  )
})

test('any query gets 200, 403 or 422, and a key never more than its scopes', async (t) => {
  const service = await startApp(t)
  const holder = await keyHolder(service, await member(service), { scopes: ['a', 'b'] })
  const word = fc.oneof(fc.constantFrom('a', 'b', 'admin', 'user', ' ', '%', '&', '='), anyText({ maxLength: 30 }))
  await fc.assert(
    fc.asyncProperty(fc.option(word), fc.option(fc.array(word)), async (role, scopes) => {
      const named = scopes?.join(' ')
      const pairs = Object.entries({ role, scope: named }).filter((pair): pair is [string, string] => typeof pair[1] === 'string')
      const query = pairs.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join('&')
      const { statusCode } = await service.app.inject({ url: `/auth/check?${query}`, headers: holder.headers })
      assert.ok([200, 403, 422].includes(statusCode), `${query}: ${statusCode}`)
      const isSatisfied = (named ?? '').split(' ').every((scope) => ['', 'a', 'b'].includes(scope.trim()))
      if (statusCode === 200) assert.ok(isSatisfied && role === null, query)
    }),
    { numRuns: t.database === 'postgres' ? 50 : 300 },
  )
})
