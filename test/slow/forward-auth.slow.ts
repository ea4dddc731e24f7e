import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { generateApiKey } from '../../src/security/api-key-secret.ts'
import { boundPort } from '../../src/shared/addresses.ts'
import { admin, keyHolder, member } from '../support/app/actors.ts'
import { until } from '../support/app/eventually.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { freshDatabase } from '../support/databases/databases.ts'
import { OPERATOR } from '../support/http/origins.ts'
import { signIn, WITH_MEMBER } from '../support/load/outage.ts'
import { ask } from '../support/load/traffic.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { startBrokenProxy } from '../support/servers/broken-proxy.ts'
import { PROXIES, request, type StartProxy } from '../support/servers/front-proxies.ts'
import { listen, serve } from '../support/servers/listen.ts'

type Received = { readonly method: string; readonly path: string; readonly identity: Record<string, string>; readonly body: string }

/** A product that notes every request that reaches it, with every header that looks like an identity in some spelling. */
async function startProduct(t: TestContext): Promise<{ port: number; received: Received[] }> {
  const received: Received[] = []
  const { port } = await serve(t, async (incoming, response) => {
    const { method = '', url = '', rawHeaders } = incoming
    const pairs = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ''] as const] : []))
    const looksLike = pairs.filter(([name]) => /latchkey/i.test(name.replace(/[^a-z]/gi, '')))
    received.push({ method, path: url, identity: Object.fromEntries(looksLike), body: await text(incoming) })
    assert.equal(new Set(looksLike.map(([name]) => name.toLowerCase())).size, looksLike.length, 'no header twice')
    response.end('product')
  })
  return { port, received }
}

type Stage = { readonly service: TestApp; readonly port: number; readonly received: Received[] }

async function stage(t: TestContext, start: StartProxy, env: Record<string, string> = {}): Promise<Stage> {
  const service = await startApp(t, { env })
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const product = await startProduct(t)
  const port = await start(t, { check: boundPort(service.app.server), product: product.port })
  product.received.splice(0)
  return { service, port, received: product.received }
}

const lines = (headers: Readonly<Record<string, string>>) => Object.entries(headers).map(([name, value]) => `${name}: ${value}`)

/** The identity headers, without empty ones, which nginx leaves out and Caddy passes on. */
function identity({ identity: all }: Received): Record<string, string> {
  return Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === '' ? [] : [[name.toLowerCase(), value]])))
}

const SPOOFED = ['LatchkeyUser', 'LatchkeyEmail', 'LatchkeyRole', 'LatchkeyMethod', 'LatchkeyScopes', 'LatchkeyKey'].flatMap((name) => {
  const separated = name.replace('Latchkey', 'Latchkey-')
  const spellings = [name, name.toLowerCase(), name.toUpperCase(), separated, separated.replace('-', '_'), separated.toLowerCase()]
  return [...spellings, name, name.replace('Latchkey', 'Latchkey_')].map((spelling) => `${spelling}: spoofed`)
})

// A product may decode, merge and shorten paths, and ignore their case.
const ADMIN_PATHS = [
  '/admin',
  '/admin?x',
  '/Admin/',
  '/ADMIN',
  '//admin/',
  '/./admin/',
  '/x/../admin/',
  '/x/..%2fadmin/',
  '/x/%2e%2e/admin/',
  '/%61dmin/',
  '/admin%2fx',
  '/admin;x=1',
  '/admin/../admin/x',
]

for (const [name, start] of Object.entries(PROXIES)) {
  test(`${name}: the product learns who is calling from Latchkey alone`, async (t) => {
    const { service, port, received } = await stage(t, start)
    const mia = await member(service)
    const holder = await keyHolder(service, mia, { scopes: ['reports:read', 'b'] })
    for (const spoofed of [[], SPOOFED]) {
      assert.equal((await request(port, '/', spoofed)).status, 401)
      assert.equal((await request(port, '/', [...spoofed, 'Authorization: Bearer garbage'])).status, 401)
      assert.equal(received.length, 0, 'nothing reaches the product without a valid credential')
      const expected = { latchkeyuser: String(mia.id), latchkeyemail: mia.email, latchkeyrole: 'user' }
      assert.equal((await request(port, '/a?b=c', [...spoofed, ...lines(mia.headers)])).status, 200)
      const [bySession = assert.fail('nothing arrived')] = received.splice(0)
      assert.deepEqual(
        [bySession.method, bySession.path, identity(bySession)],
        ['GET', '/a?b=c', { ...expected, latchkeymethod: 'session' }],
      )
      const body = 'x'.repeat(100_000)
      assert.equal((await request(port, '/', [...spoofed, ...lines(holder.headers), 'Content-Type: text/plain'], 'POST', body)).status, 200)
      const [byKey = assert.fail('nothing arrived')] = received.splice(0)
      const ofKey = { ...expected, latchkeymethod: 'api_key', latchkeyscopes: 'reports:read b', latchkeykey: holder.keyId }
      assert.deepEqual([byKey.method, byKey.body.length, identity(byKey)], ['POST', 100_000, ofKey])
      assert.ok(![bySession, byKey].some((one) => JSON.stringify(one.identity).includes('spoofed')))
    }
  })

  test(`${name}: roles and scopes are required where the configuration says so, and a ban is felt at once`, async (t) => {
    const { service, port, received } = await stage(t, start)
    const [mia, boss] = [await member(service), await admin(service)]
    const plain = await keyHolder(service, mia)
    const scoped = await keyHolder(service, mia, { scopes: ['reports:read'] })
    const status = async (path: string, { headers }: typeof mia) => (await request(port, path, lines(headers))).status
    assert.deepEqual([await status('/admin/', mia), await status('/admin/', scoped), await status('/admin/', boss)], [403, 403, 200])
    assert.deepEqual([await status('/reports/', plain), await status('/reports/', scoped), await status('/reports/', mia)], [403, 200, 200])
    assert.equal(await status('/reports/?scope=anything&role=user', plain), 403, 'the query of a client changes nothing')
    received.splice(0)
    for (const path of ADMIN_PATHS) assert.notEqual(await status(path, mia), 200, path)
    assert.deepEqual(received, [], 'no spelling of a path leads past its rule')
    await service.services.userAdministration.ban(OPERATOR, mia.id)
    const before = received.length
    for (const caller of [mia, plain, scoped]) for (const path of ['/', '/reports/']) assert.equal(await status(path, caller), 401)
    assert.equal(received.length, before)
    const many = Array.from({ length: 50 }, (_, index) => `${index}`.padEnd(100, 'x'))
    assert.equal(await status('/', await keyHolder(service, boss, { scopes: many })), 200, 'as many scopes as a key can have')
  })

  test(`${name}: a key beyond its limit gets 429 with Retry-After, and each request counts once`, async (t) => {
    const { service, port, received } = await stage(t, start, { PLANS: 'free=4/m' })
    const holder = await keyHolder(service, await member(service), { scopes: ['reports:read'] })
    for (const path of ['/', '/reports/', '/reports/x', '/a']) {
      const { status, headers } = await request(port, path, lines(holder.headers))
      // nginx adds the limits to the response of the product; Caddy passes it on as it is.
      assert.deepEqual([status, headers['ratelimit'] === undefined], [200, name === 'Caddy'])
    }
    received.splice(0)
    for (const path of ['/', '/reports/']) {
      const { status, headers, body } = await request(port, path, lines(holder.headers))
      assert.deepEqual([status, headers['retry-after'], JSON.parse(body)], [429, '60', { detail: 'Too many requests' }])
      assert.equal(headers['ratelimit'], '"account-minute";r=0;t=60')
      assert.equal(headers['ratelimit-policy'], '"account-minute";q=4;w=60')
    }
    assert.equal((await request(port, '/admin/', lines(holder.headers))).status, 403, 'another refusal stays what it is')
    assert.deepEqual(received, [])
    service.clock.advance({ minutes: 1 })
    assert.equal((await request(port, '/', lines(holder.headers))).status, 200)
  })

  test(`${name}: a client cannot have identity headers removed on the way to the product`, async (t) => {
    const { service, port, received } = await stage(t, start)
    const holder = await keyHolder(service, await member(service), { scopes: ['a'] })
    const names = ['LatchkeyUser', 'LatchkeyEmail', 'LatchkeyRole', 'LatchkeyMethod', 'LatchkeyScopes', 'LatchkeyKey']
    for (const connection of [[`Connection: ${names.join(', ')}`], names.map((one) => `Connection: ${one.toLowerCase()}`)]) {
      assert.equal((await request(port, '/', [...connection, ...lines(holder.headers)])).status, 200)
      const [arrived = assert.fail('nothing arrived')] = received.splice(0)
      assert.deepEqual(Object.keys(identity(arrived)).sort(), names.map((one) => one.toLowerCase()).sort())
    }
  })

  test(`${name}: nobody gets in while the database of Latchkey is down, and everybody does when it is back`, async (t) => {
    const target = await freshDatabase(t, 'postgres')
    const url = new URL(target.setting)
    const database = await startBrokenProxy(t, Number(url.port))
    url.port = String(database.port)
    const service = await startProcess(t, {
      DATABASE_URL: url.href,
      ...WITH_MEMBER,
      LOG_LEVEL: 'fatal',
    })
    const { authorization = '' } = await signIn(service.url)
    const headers = { authorization }
    const product = await startProduct(t)
    const port = await start(t, { check: Number(new URL(service.url).port), product: product.port })
    product.received.splice(0)
    const through = async () => (await request(port, '/', lines(headers))).status
    const asked = async () => {
      const answers = await Promise.all([
        ask(service.url, 'GET', '/auth/check', undefined, headers),
        ask(service.url, 'POST', '/auth/introspect', { token: 'x' }, headers),
        ask(service.url, 'POST', '/auth/token', { audience: 'a' }, headers),
        ask(service.url, 'GET', '/.well-known/jwks.json'),
        ask(service.url, 'DELETE', '/auth/key', undefined, { 'x-api-key': generateApiKey('lk') }),
        ask(service.url, 'POST', '/auth/leaked', [{ token: generateApiKey('lk'), type: 'key' }]),
      ])
      return answers.map(({ status, retryAfter }) => `${status} ${retryAfter}`)
    }
    const served = ['200 null', '200 null', '200 null', '200 null', '401 null', '200 null']
    const isServed = async () => (await through()) === 200 && (await asked()).join() === served.join()
    await until('everything is served', isServed)
    for (const outage of ['closed', 'blackhole'] as const) {
      database.set(outage)
      assert.deepEqual(
        await asked(),
        served.map(() => '503 2'),
      )
      product.received.splice(0)
      assert.ok((await through()) >= 500, outage)
      assert.deepEqual(product.received, [])
      database.set('open')
      // Reads and writes have connections of their own, which recover one after the other.
      await until('the recovery', isServed)
    }
  })

  test(`${name}: nobody gets in while Latchkey is down, slow or failing`, async (t) => {
    const product = await startProduct(t)
    let answer: RequestListener = (_request, response) => void response.end()
    const { port: check } = await serve(t, (incoming, response) => answer(incoming, response))
    const port = await start(t, { check, product: product.port })
    const credential = ['X-API-Key: any', ...SPOOFED]
    assert.equal((await request(port, '/', credential)).status, 200, 'the stand-in lets everybody in')
    product.received.splice(0)
    for (const status of [302, 400, 404, 422, 500, 502, 503]) {
      answer = (_request, response) => void response.writeHead(status, { location: '/' }).end('{"detail":""}')
      assert.ok((await request(port, '/', credential)).status >= 300, String(status))
    }
    answer = () => undefined
    assert.ok((await request(port, '/', credential)).status >= 500, 'no answer at all')
    answer = (incoming) => void incoming.socket.destroy()
    assert.ok((await request(port, '/', credential)).status >= 500, 'a connection that breaks')
    assert.equal(product.received.length, 0)
    const down = await start(t, { check: 9, product: product.port })
    assert.ok((await request(down, '/', credential)).status >= 500, 'nothing listens')
    assert.equal(product.received.length, 0)
  })
}

test('Caddy: a connection can be upgraded, and the product still learns who is calling', async (t) => {
  const service = await startApp(t)
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const mia = await member(service)
  const upgraded: IncomingHttpHeaders[] = []
  const product = createServer((_request, response) => void response.end())
  product.on('upgrade', ({ headers }, socket) => {
    upgraded.push(headers)
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  const { port: productPort } = await listen(t, product)
  const start = PROXIES['Caddy'] ?? assert.fail('there is no Caddy')
  const port = await start(t, { check: boundPort(service.app.server), product: productPort })
  const upgrade = ['Connection: LatchkeyRole, upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: eA==']
  assert.equal((await request(port, '/', upgrade)).status, 401)
  assert.equal((await request(port, '/', [...upgrade, ...lines(mia.headers)])).status, 101)
  assert.deepEqual(
    upgraded.map(({ latchkeyuser, latchkeyrole }) => [latchkeyuser, latchkeyrole]),
    [[String(mia.id), 'user']],
  )
})
