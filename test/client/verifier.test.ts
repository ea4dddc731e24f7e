import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createOfflineVerifier, createVerifier, LatchkeyError, type Verifier } from '../../packages/client/src/index.ts'
import { admin, keyHolder, member, misspelt } from '../support/app/actors.ts'
import { startListening } from '../support/client/listening.ts'
import { watchedFetch } from '../support/client/watched-fetch.ts'
import { OPERATOR } from '../support/http/origins.ts'
import { freePort } from '../support/servers/free-port.ts'
import { serve } from '../support/servers/listen.ts'

type Verify = Parameters<Verifier['verify']>

/** Status and code of a refusal. */
async function refusalOf(verifier: Verifier<unknown>, ...call: Verify): Promise<string> {
  const error = await verifier.verify(...call).then(
    () => assert.fail('the caller was accepted'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof LatchkeyError, String(error))
  return `${error.status} ${error.code}`
}

async function start(t: TestContext) {
  const service = await startListening(t)
  const mia = await member(service)
  const reader = await keyHolder(service, mia, { scopes: ['notes:read'] })
  return { service, mia, reader, verifier: createVerifier({ url: service.url }) }
}

test('a caller is identified by a session or an API key, from the headers of Node.js and of the Fetch API', async (t) => {
  const { service, mia, reader, verifier } = await start(t)
  const person = { userId: mia.id, email: mia.email, firstName: mia.firstName, lastName: mia.lastName, role: 'user' }
  const byKey = { method: 'api_key', sessionId: null, keyId: reader.keyId, scopes: ['notes:read'], secondFactor: null, expiresAt: null }
  const ofKey = { ...person, ...byKey }
  assert.deepEqual(await verifier.verify(reader.headers), ofKey)
  assert.deepEqual(await verifier.verify(new Headers(reader.headers)), ofKey)
  assert.deepEqual(await verifier.verify({ 'X-API-Key': reader.key, accept: 'text/html', cookie: undefined }), ofKey)
  const { sessionId, expiresAt, ...ofSession } = await verifier.verify(mia.headers)
  assert.deepEqual(ofSession, { ...person, method: 'session', keyId: null, scopes: null, secondFactor: false })
  assert.deepEqual([typeof sessionId, Date.parse(String(expiresAt)) > service.clock.now()], ['string', true])
})

test('401, 403: callers are refused as the service refuses them', async (t) => {
  const { service, mia, reader, verifier } = await start(t)
  const boss = await admin(service)
  assert.equal(await refusalOf(verifier, {}), '401 not_authenticated')
  assert.equal(await refusalOf(verifier, { authorization: 'Basic bWlh' }), '401 not_authenticated')
  assert.equal(await refusalOf(verifier, { 'x-api-key': 'unknown' }), '401 key_invalid')
  assert.equal(await refusalOf(verifier, { 'x-api-key': [reader.key, reader.key] }), '401 key_invalid')
  // A session decides before a key.
  assert.equal(await refusalOf(verifier, { ...reader.headers, authorization: 'Bearer broken' }), '401 token_invalid')
  assert.equal(await refusalOf(verifier, { 'x-api-key': 'two\nlines' }), '401 not_authenticated')
  assert.equal(await refusalOf(verifier, reader.headers, { scope: 'notes:read notes:write' }), '403 not_permitted')
  assert.equal(await refusalOf(verifier, reader.headers, { scope: ['notes:read', 'notes:write'] }), '403 not_permitted')
  assert.equal(await refusalOf(verifier, mia.headers, { role: 'admin' }), '403 not_permitted')
  await verifier.verify(reader.headers, { scope: ['notes:read'] })
  await verifier.verify(mia.headers, { scope: 'notes:write' })
  await verifier.verify(boss.headers, { role: 'admin', scope: 'notes:write' })
  service.clock.advance({ hours: 3 })
  assert.equal(await refusalOf(verifier, mia.headers), '401 token_expired')
})

test('an API key may come as a bearer token, and then decides before another key', async (t) => {
  const { service, reader, verifier } = await start(t)
  const other = await keyHolder(service, await member(service))
  for (const authorization of [`Bearer ${reader.key}`, `bearer  ${reader.key}`])
    assert.equal((await verifier.verify({ ...other.headers, authorization })).keyId, reader.keyId)
  assert.equal(await refusalOf(verifier, { authorization: `Bearer ${misspelt(reader.key)}` }), '401 key_invalid')
  // Anything else is a token, and broken.
  for (const authorization of [`Bearer ${reader.key}x`, `Bearer ${reader.key} x`, `Bearer x.${reader.key}`])
    assert.equal(await refusalOf(verifier, { ...other.headers, authorization }), '401 token_invalid')
  assert.equal(await refusalOf(verifier, { authorization: reader.key }), '401 not_authenticated')
})

test('a ban, a logout and a disabled key are felt with the next request', async (t) => {
  const { service, mia, reader, verifier } = await start(t)
  const boss = await admin(service)
  const ban = (action: string) => service.app.inject({ method: 'POST', url: `/users/${mia.id}/${action}`, headers: boss.headers })
  await verifier.verify(mia.headers)
  await ban('ban')
  assert.equal(await refusalOf(verifier, mia.headers), '401 token_invalid')
  assert.equal(await refusalOf(verifier, reader.headers), '401 key_invalid')
  await ban('unban')
  await verifier.verify(mia.headers)
  await verifier.verify(reader.headers)
  await service.app.inject({ method: 'POST', url: '/logout/', headers: mia.headers })
  assert.equal(await refusalOf(verifier, mia.headers), '401 token_invalid')
  await service.app.inject({ method: 'DELETE', url: '/auth/key', headers: reader.headers })
  assert.equal(await refusalOf(verifier, reader.headers), '401 key_inactive')
})

test('503: nobody passes while Latchkey is down, hangs or is replaced by something else', async (t) => {
  const { reader } = await start(t)
  assert.equal(await refusalOf(createVerifier({ url: `http://127.0.0.1:${await freePort()}` }), reader.headers), '503 unavailable')
  const bodies: [number, string][] = [
    [200, '<h1>Welcome</h1>'],
    [200, 'null'],
    [200, '{"status":"ok"}'],
    [200, '[]'],
    [200, '{"user_id":"1"}'],
    [302, ''],
    [404, '{"detail":"Not Found"}'],
    [422, '{"detail":[]}'],
    [500, ''],
    [200, 'hang'],
  ]
  for (const [status, body] of bodies) {
    const { url, stop } = await serve(t, (_request, response) => {
      if (body !== 'hang') response.writeHead(status, { location: '/' }).end(body)
    })
    assert.equal(await refusalOf(createVerifier({ url, timeoutMs: 200 }), reader.headers), '503 unavailable', `${status} ${body}`)
    await stop()
  }
})

test('503: a requirement that is empty, as from an unset variable, lets nobody in', async (t) => {
  const { reader, verifier } = await start(t)
  for (const scope of ['', ' ', []]) assert.equal(await refusalOf(verifier, reader.headers, { scope }), '503 unavailable')
})

test('a call that is aborted ends with the reason of its signal', async (t) => {
  const { reader, verifier } = await start(t)
  const reason = new Error('the client has disconnected')
  await assert.rejects(verifier.verify(reader.headers, {}, { signal: AbortSignal.abort(reason) }), (error) => error === reason)
})

test('with cacheSeconds, a caller is asked about once in that time, for each requirement, and never beyond the expiry', async (t) => {
  const { service, mia, reader } = await start(t)
  const { fetch, calls } = watchedFetch()
  const verifier = createVerifier({ url: service.url, cacheSeconds: 60, fetch, now: service.clock.now })
  const asked = async (...call: Verify) => {
    const before = calls.length
    await verifier.verify(...call)
    return calls.length - before
  }
  assert.deepEqual([await asked(reader.headers), await asked(reader.headers), await asked(mia.headers)], [1, 0, 1])
  // A refusal is not kept, and what is kept for one requirement says nothing about another.
  assert.equal(await asked(reader.headers, { scope: 'notes:read' }), 1)
  assert.equal(await refusalOf(verifier, reader.headers, { scope: 'notes:write' }), '403 not_permitted')
  assert.equal(await refusalOf(verifier, reader.headers, { role: 'admin' }), '403 not_permitted')
  service.clock.advance({ seconds: 59 })
  assert.equal(await asked(reader.headers), 0)
  service.clock.advance({ seconds: 1 })
  assert.equal(await asked(reader.headers), 1)
  const short = await keyHolder(service, mia, { expiresAt: service.clock.now() + 10_000 })
  await verifier.verify(short.headers)
  service.clock.advance({ seconds: 10 })
  assert.equal(await refusalOf(verifier, short.headers), '401 key_expired')
})

test('the cache keeps a thousand callers at most', async (t) => {
  const { service, reader, mia } = await start(t)
  let answered = 0
  // The answer for the first key stands for those of all others, which do not exist.
  const identity = await (await globalThis.fetch(`${service.url}/auth/check`, { headers: reader.headers })).text()
  const fetch = async () => {
    answered++
    return new Response(identity)
  }
  const verifier = createVerifier({ url: service.url, cacheSeconds: 60, fetch, now: service.clock.now })
  for (let n = 0; n <= 1000; n++) await verifier.verify({ 'x-api-key': `key ${n}` })
  assert.equal(answered, 1001)
  await verifier.verify({ 'x-api-key': 'key 1000' })
  assert.equal(answered, 1001)
  await verifier.verify({ 'x-api-key': 'key 0' })
  assert.equal(answered, 1002)
  assert.equal(mia.id, 1)
})

test('the data of the product comes with the identity on request, also through a cache, and never from nowhere', async (t) => {
  const { service, mia, verifier } = await start(t)
  const data = { profile: { first_name: 'kept as it is' }, app: { tenant: 'acme' } }
  await service.services.productData.patch(OPERATOR, mia.id, data)
  const kept = createVerifier({ url: service.url, cacheSeconds: 60 })
  for (const each of [verifier, kept, kept]) {
    assert.equal((await each.verify(mia.headers)).data, undefined)
    assert.deepEqual((await each.verify(mia.headers, { data: true })).data, data)
  }
  const older: typeof fetch = async (url, init) => fetch(String(url).replace('data=true', ''), init)
  assert.equal(await refusalOf(createVerifier({ url: service.url, fetch: older }), mia.headers, { data: true }), '503 unavailable')
  const offline = createOfflineVerifier({ url: service.url, audience: 'reports' })
  assert.equal(await refusalOf(offline, mia.headers, { data: true }), '503 unavailable')
})

test('429: a key beyond its limit is refused with the time to wait, and a request may cost more', async (t) => {
  const { service, mia, verifier } = await start(t)
  const { headers } = await keyHolder(service, mia, { limit: '3/m' })
  await verifier.verify(headers, { cost: 2 })
  await verifier.verify(headers)
  const error = await verifier.verify(headers).catch((thrown: unknown) => thrown)
  assert.ok(error instanceof LatchkeyError)
  assert.deepEqual([error.status, error.code, error.retryAfterSeconds], [429, 'too_many_requests', 60])
})
