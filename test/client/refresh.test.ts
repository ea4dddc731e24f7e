import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createClient, type TokenStorage, type Tokens } from '../../packages/client/src/index.ts'
import { admin, member } from '../support/app/actors.ts'
import { startListening } from '../support/client/listening.ts'
import { watchedFetch } from '../support/client/watched-fetch.ts'
import { serve } from '../support/servers/listen.ts'

/** A storage that two clients share, as two tabs do. */
function sharedStorage(): TokenStorage & { kept: Tokens | null } {
  return {
    kept: null,
    async get() {
      return this.kept
    },
    async set(tokens) {
      this.kept = tokens
    },
  }
}

/** A user who is logged in with a client whose requests are watched. The clock of the device is off by some hours. */
async function start(t: TestContext, { skewHours = 0 } = {}) {
  const service = await startListening(t)
  const mia = await member(service)
  const storage = sharedStorage()
  const watched = watchedFetch()
  const device = { skewMs: skewHours * 3_600_000 }
  const now = () => service.clock.now() + device.skewMs
  const client = createClient({ url: service.url, storage, fetch: watched.fetch, now })
  await client.login({ email: mia.email, password: mia.password })
  watched.calls.length = 0
  return { service, mia, storage, watched, client, device }
}

/** A service of a product, and what it received. The test decides its statuses. */
async function startProductApi(t: TestContext, statusOf: (request: IncomingMessage) => number) {
  const received: { method: string | undefined; authorization: string | undefined; body: string }[] = []
  const { url } = await serve(t, async (request, response) => {
    received.push({ method: request.method, authorization: request.headers.authorization, body: await text(request) })
    response.writeHead(statusOf(request)).end('of the product')
  })
  return { url: `${url}/notes`, received }
}

/** Makes the token one that the service refuses, although the device takes it for a valid one. */
function spoil(storage: { kept: Tokens | null }): void {
  assert.ok(storage.kept)
  storage.kept = { ...storage.kept, token: storage.kept.token.replace(/[^.]+$/, 'c2lnbmF0dXJl') }
}

test('many calls that meet an expired token share one refresh', async (t) => {
  const { client, watched, service } = await start(t)
  service.clock.advance({ hours: 3 })
  const calls = [client.me(), client.keys.list(), client.sessions.list(), client.me(), client.me()]
  await Promise.all(calls)
  assert.equal(watched.calls.filter((call) => call === 'POST /refresh/').length, 1)
  assert.equal(watched.calls.length, 6)
  await client.me()
  assert.equal(watched.calls.length, 7)
})

test('many calls that are refused with 401 share one refresh, and each is repeated once', async (t) => {
  const { client, watched, storage } = await start(t)
  spoil(storage)
  await Promise.all([client.me(), client.me(), client.me()])
  assert.deepEqual(watched.calls.sort(), [...Array(6).fill('GET /users/me'), 'POST /refresh/'])
})

test('a call that is refused after another has renewed the token is repeated without a refresh', async (t) => {
  const { client, watched, storage } = await start(t)
  spoil(storage)
  const late = watched.hold('/users/keys')
  const keys = client.keys.list()
  await late.arrived
  await client.me()
  late.release()
  await keys
  assert.equal(watched.calls.filter((call) => call === 'POST /refresh/').length, 1)
})

for (const skewHours of [-48, 0, 48]) {
  test(`a device whose clock is off by ${skewHours} hours renews a token shortly before it expires, and not earlier`, async (t) => {
    const { client, watched, service } = await start(t, { skewHours })
    service.clock.advance({ minutes: 119, seconds: 29 })
    await client.me()
    assert.deepEqual(watched.calls, ['GET /users/me'])
    service.clock.advance({ seconds: 1 })
    await client.me()
    assert.deepEqual(watched.calls, ['GET /users/me', 'POST /refresh/', 'GET /users/me'])
  })
}

test('a device whose clock is set back meets the expiry as a 401, and renews the token then', async (t) => {
  const { client, watched, service, device } = await start(t)
  service.clock.advance({ hours: 3 })
  device.skewMs = -86_400_000
  await client.me()
  assert.deepEqual(watched.calls, ['GET /users/me', 'POST /refresh/', 'GET /users/me'])
})

test('a call that is aborted leaves the shared refresh to the others', async (t) => {
  const { client, watched, service } = await start(t)
  service.clock.advance({ hours: 3 })
  const refresh = watched.hold('/refresh/')
  const controller = new AbortController()
  const aborted = client.me({ signal: controller.signal })
  const other = client.me()
  await refresh.arrived
  controller.abort(new Error('left'))
  await assert.rejects(aborted, /left/)
  refresh.release()
  await other
  assert.deepEqual(watched.calls, ['POST /refresh/', 'GET /users/me'])
})

test('a refresh ends with the last call that waits for it, and the next call starts another', async (t) => {
  const { client, watched, service } = await start(t)
  service.clock.advance({ hours: 3 })
  const refresh = watched.hold('/refresh/')
  const controller = new AbortController()
  const calls = [client.me({ signal: controller.signal }), client.me({ signal: controller.signal })]
  const signal = await refresh.arrived
  controller.abort(new Error('left'))
  await Promise.all(calls.map((call) => assert.rejects(call, /left/)))
  assert.ok(signal.aborted)
  refresh.release()
  await client.me()
  assert.deepEqual(watched.calls, ['POST /refresh/', 'POST /refresh/', 'GET /users/me'])
})

test('a refused refresh removes the tokens, and the call ends with the 401 of its own', async (t) => {
  const { client, watched, service, storage, mia } = await start(t)
  const boss = await admin(service)
  await service.app.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: boss.headers })
  await assert.rejects(client.me(), { name: 'LatchkeyError', status: 401, code: 'token_invalid' })
  assert.deepEqual(watched.calls, ['GET /users/me', 'POST /refresh/'])
  assert.equal(storage.kept, null)
})

test('an outage keeps the tokens, and is not reported as a logout', async (t) => {
  const { client, service, storage } = await start(t)
  const before = storage.kept
  const api = await startProductApi(t, () => 401)
  service.clock.advance({ hours: 3 })
  await service.app.close()
  const calls = [client.me(), client.fetch(api.url)]
  await Promise.all(calls.map((call) => assert.rejects(call, { code: 'unreachable' })))
  assert.equal(storage.kept, before)
})

test('after a refused refresh, the tokens of another tab that has logged in again are used', async (t) => {
  const { client, watched, service, storage, mia } = await start(t)
  const mine = storage.kept
  const tab = createClient({ url: service.url, storage, now: service.clock.now })
  await tab.logout()
  // This tab has read the storage before the other wrote to it.
  storage.kept = mine
  const refresh = watched.hold('/refresh/')
  const call = client.me()
  await refresh.arrived
  await tab.login({ email: mia.email, password: mia.password })
  refresh.release()
  assert.equal((await call).email, mia.email)
  assert.deepEqual(watched.calls, ['GET /users/me', 'POST /refresh/', 'GET /users/me'])
})

test('a call is never repeated as another user, who has logged in meanwhile in another tab', async (t) => {
  const { client, watched, service, storage } = await start(t)
  const bob = await member(service)
  spoil(storage)
  const refresh = watched.hold('/refresh/')
  const call = client.me()
  await refresh.arrived
  const tab = createClient({ url: service.url, storage, now: service.clock.now })
  await tab.login({ email: bob.email, password: bob.password })
  const ofBob = storage.kept
  refresh.release()
  await assert.rejects(call, { status: 401 })
  assert.equal(storage.kept, ofBob)
  assert.deepEqual(watched.calls, ['GET /users/me', 'POST /refresh/'])
})

test('a logout during a refresh is final', async (t) => {
  const { client, watched, service, storage } = await start(t)
  service.clock.advance({ hours: 3 })
  const refresh = watched.hold('/refresh/')
  const call = client.me()
  await refresh.arrived
  // Another tab; this one would share the refresh.
  const tab = createClient({ url: service.url, storage, now: service.clock.now })
  await tab.logout()
  refresh.release()
  await assert.rejects(call, { status: 401 })
  assert.equal(storage.kept, null)
})

test('fetch sends the token, and the same request again after a 401', async (t) => {
  const { client, storage, service } = await start(t)
  const first = storage.kept?.token
  const api = await startProductApi(t, ({ headers }) => (headers.authorization === `Bearer ${first}` ? 401 : 200))
  // Within the same second the service issues the same token.
  service.clock.advance({ seconds: 1 })
  const response = await client.fetch(api.url, { method: 'POST', body: 'a note', headers: { 'content-type': 'text/plain' } })
  assert.equal(await response.text(), 'of the product')
  const body = { method: 'POST', body: 'a note' }
  assert.deepEqual(api.received, [
    { ...body, authorization: `Bearer ${first}` },
    { ...body, authorization: `Bearer ${storage.kept?.token}` },
  ])
  const request = new Request(api.url, { method: 'PUT', body: 'another' })
  assert.equal((await client.fetch(request)).status, 200)
  assert.deepEqual(api.received.at(-1), { method: 'PUT', body: 'another', authorization: `Bearer ${storage.kept?.token}` })
})

test('fetch returns a 401 that a new token does not change, after one refresh', async (t) => {
  const { client, watched } = await start(t)
  const api = await startProductApi(t, () => 401)
  const response = await client.fetch(api.url)
  assert.deepEqual([response.status, await response.text()], [401, 'of the product'])
  assert.deepEqual(watched.calls, ['GET /notes', 'POST /refresh/', 'GET /notes'])
})

test('fetch sends a stream once, and returns its 401', async (t) => {
  const { client, watched } = await start(t)
  const api = await startProductApi(t, () => 401)
  const body = new Blob(['a long note']).stream()
  // Needed for streams, and not yet in the types of every platform.
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', body, duplex: 'half' }
  assert.equal((await client.fetch(api.url, init)).status, 401)
  assert.deepEqual(watched.calls, ['POST /notes'])
  assert.equal(api.received[0]?.body, 'a long note')
})

test('fetch without a session sends no token', async (t) => {
  const { url } = await startListening(t)
  const api = await startProductApi(t, () => 401)
  assert.equal((await createClient({ url }).fetch(api.url)).status, 401)
  assert.deepEqual(api.received, [{ method: 'GET', body: '', authorization: undefined }])
})

test('a storage that returns undefined instead of null has no tokens', async (t) => {
  const { service, mia } = await start(t)
  const kept = new Map<string, Tokens>()
  // Programs in JavaScript, which no type holds back, forget the null.
  const storage = {
    get: () => kept.get('tokens') as Tokens,
    set: (tokens: Tokens | null) => void (tokens === null ? kept.delete('tokens') : kept.set('tokens', tokens)),
  }
  const client = createClient({ url: service.url, storage, now: service.clock.now })
  await assert.rejects(client.me(), { code: 'not_authenticated', status: 401 })
  await client.logout()
  await client.login({ email: mia.email, password: mia.password })
  assert.equal((await client.me()).email, mia.email)
  await client.logout()
  await assert.rejects(client.me(), { code: 'not_authenticated', status: 401 })
})
