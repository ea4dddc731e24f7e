import assert from 'node:assert/strict'
import { test as plainTest } from 'node:test'
import type { InjectOptions } from 'fastify'
import { generateStartToken } from '../../../src/security/start-token.ts'
import { statement } from '../../../src/storage/database.ts'
import { admin, member } from '../../support/app/actors.ts'
import { eventually, until } from '../../support/app/eventually.ts'
import { type StartOptions, startApp, type TestApp } from '../../support/app/start-app.ts'
import { temporaryFolder, test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'
import { credentials, SAME_ORIGIN, sessionCookie, submit, textOf, visit } from '../../support/http/pages.ts'
import { rawAnswer } from '../../support/http/raw-answer.ts'
import { firstAdminUrl, startProcess } from '../../support/processes/service-process.ts'

const TOKEN = '7KQMX2PDVH9C-_7kqmx2pdvh'
const PLAIN_PATH = '/console/first-admin'
const PATH = `${PLAIN_PATH}?token=${TOKEN}`
const FIELDS = { email: 'boss@example.com', first_name: 'Ada', last_name: 'Boss', password: 'correct horse battery' }
const COUNT_USERS = statement<{ count: number }>('select count(*) as count from users')
const EVENTS = statement<{ kind: string; via: string; actor: number | null; target: number }>(
  "select kind, via, actor, target from events where kind like 'user.%' order by id",
)

const start = (t: Parameters<typeof startApp>[0], options: StartOptions = {}) => startApp(t, { firstAdminToken: TOKEN, ...options })

async function countUsers({ db }: TestApp): Promise<number> {
  return Number((await db.first(COUNT_USERS))?.count)
}

test('303: the link of the terminal leads to a form that creates a verified admin, who is signed in', async (t) => {
  const service = await start(t, { env: { LOG_LEVEL: 'trace' } })
  const { app, db, services } = service
  const signIn = await app.inject(visit('/console/sign-in'))
  assert.match(
    textOf(signIn),
    /There is no admin yet\. Create one with the link that the terminal of this service shows.*user create --admin/,
  )
  assert.ok(!signIn.body.includes(PLAIN_PATH) && !signIn.body.includes(TOKEN))
  const form = await app.inject(visit(PATH))
  const { 'cache-control': caching, 'referrer-policy': referrer } = form.headers
  assert.deepEqual([form.statusCode, caching, referrer], [200, 'no-store', 'strict-origin'], 'no address is kept, or sent to others')
  assert.match(form.body, new RegExp(`<form class="form" method="post" action="${RegExp.escape(PATH)}">`))
  for (const name of Object.keys(FIELDS)) assert.match(form.body, new RegExp(`name="${name}"`))
  const created = await app.inject(submit(PATH, FIELDS))
  assert.deepEqual([created.statusCode, created.headers.location], [303, '/console/'], created.body)
  const { id, role, verified, email } = await services.userAdministration.findByEmail(FIELDS.email)
  assert.deepEqual({ role, verified, email }, { role: 'admin', verified: true, email: FIELDS.email })
  const origin = { via: 'console', actor: null, target: id }
  assert.deepEqual(await db.all(EVENTS), [
    { kind: 'user.registered', ...origin },
    { kind: 'user.promoted', ...origin },
  ])
  assert.match(textOf(await app.inject(visit('/console/', sessionCookie(created)))), /Overview/)
  assert.ok(service.logged.length > 3)
  assert.ok(!service.logged.some((line) => line.includes(TOKEN) || line.includes(FIELDS.password)))
})

/** Requests that must not see or use the form, with the right token. */
const ATTACKS: Readonly<Record<string, Pick<InjectOptions, 'headers' | 'remoteAddress'>>> = {
  'a client on another machine': { remoteAddress: '203.0.113.9' },
  'a client in the same network': { remoteAddress: '192.168.1.20' },
  'a client that claims to be local': { remoteAddress: '203.0.113.9', headers: { 'x-forwarded-for': '127.0.0.1' } },
  'a name that resolves to this machine': { headers: { host: 'evil.example' } },
  'a name that begins like a local one': { headers: { host: 'localhost.evil.example:8000' } },
  'another spelling of the address': { headers: { host: '2130706433' } },
  'the address of all interfaces': { headers: { host: '0.0.0.0:8000' } },
  'a request that a proxy forwards': { headers: { 'x-forwarded-for': '127.0.0.1' } },
  'a forwarded request (RFC 7239)': { headers: { forwarded: 'for=127.0.0.1' } },
  'a request with the address of its client': { headers: { 'x-real-ip': '127.0.0.1' } },
  'a request of the client of another proxy': { headers: { 'true-client-ip': '127.0.0.1' } },
  'a request with the address of its client, in another header': { headers: { 'x-client-ip': '127.0.0.1' } },
  'a request through a proxy in the cloud': { headers: { 'fly-client-ip': '127.0.0.1' } },
  'a request through a content delivery network': { headers: { 'cf-connecting-ip': '127.0.0.1' } },
  'a forwarded request, in an older header': { headers: { 'x-forwarded': 'for=127.0.0.1' } },
  'a request with the name of a proxy': { headers: { 'x-forwarded-server': 'proxy' } },
  'a request with the port of a proxy': { headers: { 'X-Forwarded-Port': '443' } },
  'a request through a proxy that names itself': { headers: { via: '1.1 proxy' } },
  'a form of another site': { headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' } },
  'a form on another port of this machine': {
    headers: { host: 'localhost:8000', 'sec-fetch-site': 'same-site', origin: 'http://localhost:3000' },
  },
  'a form without an origin': { headers: { 'sec-fetch-site': 'cross-site', origin: 'null' } },
  'a form of an older browser on another site': { headers: { 'sec-fetch-site': '', origin: 'https://evil.example' } },
}

for (const TRUST_PROXY of ['false', 'true']) {
  plainTest(`404: for anybody but a browser on this machine there is no form, with TRUST_PROXY ${TRUST_PROXY}`, async (t) => {
    const service = await start(t, { env: { TRUST_PROXY } })
    for (const [attack, { headers, ...options }] of Object.entries(ATTACKS)) {
      for (const request of [visit(PATH), submit(PATH, FIELDS), submit(`/api/v1${PATH}`, FIELDS)]) {
        const response = await service.app.inject({ ...request, ...options, headers: { ...request.headers, ...headers } })
        assert.equal(response.statusCode, 404, `${attack}: ${request.method}`)
        assert.equal(response.headers['access-control-allow-origin'], undefined)
        assert.equal(response.headers['set-cookie'], undefined)
      }
      const signIn = await service.app.inject({ ...visit('/console/sign-in'), ...options, headers: { ...headers } })
      assert.ok(!signIn.body.includes('the link that the terminal'), attack)
    }
    assert.equal(await countUsers(service), 0)
  })
}

plainTest('404: a proxy that speaks HTTP/1.0 and sends a local Host finds no form', async (t) => {
  const service = await start(t)
  const port = Number(new URL(await service.app.listen({ port: 0 })).port)
  const { payload, headers } = submit(PATH, FIELDS)
  const lines = Object.entries({ ...headers, host: `127.0.0.1:${port}`, connection: 'close', 'content-length': String(payload).length })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  for (const [version, statuses] of [
    ['1.0', ['404', '404']],
    ['1.1', ['200', '303']],
  ] as const) {
    const answers = [
      await rawAnswer(port, `GET ${PATH} HTTP/${version}\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`),
      await rawAnswer(port, `POST ${PATH} HTTP/${version}\r\n${head}\r\n${payload}`),
    ]
    assert.deepEqual(
      answers.map((answer) => answer.split(' ')[1]),
      statuses,
      version,
    )
  }
})

plainTest('403: a form without any sign of its origin is refused', async (t) => {
  const service = await start(t)
  const { headers, ...request } = submit(PATH, FIELDS)
  const { 'sec-fetch-site': _, ...without } = headers as Record<string, string>
  assert.equal((await service.app.inject({ ...request, headers: without })).statusCode, 403)
  assert.equal(await countUsers(service), 0)
  assert.equal((await service.app.inject({ ...request, headers: { ...without, ...SAME_ORIGIN } })).statusCode, 303)
})

const DISABLING: readonly Readonly<Record<string, string>>[] = [
  { HOST: '0.0.0.0' },
  { HOST: '::' },
  { HOST: '192.168.1.20' },
  { BASE_URL: 'https://accounts.example.com' },
  { CONSOLE_ENABLED: 'false' },
]

for (const env of DISABLING) {
  plainTest(`404: there is no form with ${JSON.stringify(env)}`, async (t) => {
    const service = await start(t, { env })
    for (const request of [visit(PATH), submit(PATH, FIELDS)]) assert.equal((await service.app.inject(request)).statusCode, 404)
    assert.ok(!(await service.app.inject(visit('/console/sign-in'))).body.includes('the link that the terminal'))
    assert.equal(await countUsers(service), 0)
  })
}

/** What somebody sends who does not have the token. */
const WRONG_QUERIES = [
  '',
  '?token',
  '?token=',
  '?token=wrong',
  `?token=${TOKEN.slice(0, -1)}`,
  `?token=${TOKEN}x`,
  `?token=${TOKEN.toLowerCase()}`,
  `?token=${TOKEN}&token=${TOKEN}`,
  `?token[]=${TOKEN}`,
  `?code=${TOKEN}`,
  '?token=%ff',
]
const ROUTED = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

test('404: without the token there is no form, whatever the method and the rest of the request', async (t) => {
  const service = await start(t, { env: { LOG_LEVEL: 'trace' } })
  const { app, clock } = service
  const unknown = await app.inject(visit('/console/unknown'))
  for (const query of WRONG_QUERIES) {
    for (const method of ROUTED) {
      const cookie = `token=${TOKEN}`
      const requests = [
        submit(`${PLAIN_PATH}${query}`, { ...FIELDS, token: TOKEN, code: TOKEN }, cookie),
        submit(`${PLAIN_PATH}/${query}`, { email: 'nonsense' }, cookie),
        { url: `${PLAIN_PATH}${query}`, headers: { 'sec-fetch-site': 'none', accept: 'text/html', authorization: `Bearer ${TOKEN}` } },
      ]
      for (const request of requests) {
        const response = await app.inject({ ...request, method })
        const { 'x-error-code': code, allow, 'set-cookie': cookies, 'retry-after': retryAfter } = response.headers
        assert.deepEqual([response.statusCode, code, allow, cookies, retryAfter], [404, 'path_not_found', undefined, undefined, undefined])
        if (request.headers?.accept && method === 'GET') assert.equal(textOf(response), textOf(unknown))
      }
    }
  }
  assert.equal(await countUsers(service), 0)
  clock.advance({ minutes: 1 })
  assert.equal((await app.inject({ method: 'HEAD', url: PATH })).statusCode, 200)
  assert.deepEqual((await app.inject({ method: 'DELETE', url: PATH })).headers.allow, 'GET, HEAD, POST')
  assert.equal((await app.inject(submit(PATH, FIELDS))).statusCode, 303)
  assert.ok(service.logged.length > 100 && !service.logged.some((line) => line.includes(TOKEN)), 'no line of the log contains the token')
})

for (const method of ['GET', 'POST', 'DELETE'] as const) {
  test(`404, 429: wrong tokens in ${method} requests count, and then the right one has to wait as well`, async (t) => {
    const service = await start(t)
    const { app, clock } = service
    for (let n = 0; n < 40; n++) {
      const wrong = await app.inject({ ...submit(`${PLAIN_PATH}?token=${generateStartToken()}`, FIELDS), method })
      assert.deepEqual([wrong.statusCode, wrong.headers['retry-after']], [404, undefined], 'the limit says nothing about the path')
    }
    for (const request of [visit(PATH), submit(PATH, FIELDS)]) assert.equal((await app.inject(request)).statusCode, 429)
    assert.equal(await countUsers(service), 0)
    clock.advance({ minutes: 1 })
    assert.equal((await app.inject(submit(PATH, FIELDS))).statusCode, 303)
  })
}

test('400, 422: a form that cannot be accepted is shown again, and the link still works', async (t) => {
  const service = await start(t, { env: { PASSWORD_BLOCKLIST: 'common' } })
  const mia = await member(service)
  const cases: [Record<string, string>, number, RegExp][] = [
    [{ ...FIELDS, email: mia.email }, 400, /There is already an account with this email address/],
    [{ ...FIELDS, email: 'nonsense' }, 422, /Enter a valid email address/],
    [{ ...FIELDS, password: 'shrt' }, 422, /Password should have at least 8 characters/],
    [{ ...FIELDS, password: 'password1' }, 422, /This password is on a list of breached passwords/],
    [{ ...FIELDS, last_name: '</p><script>alert(1)</script>'.repeat(5) }, 422, /Last name should have at most 100 characters/],
    [{}, 422, /is required/],
  ]
  for (const [fields, status, message] of cases) {
    const response = await service.app.inject(submit(PATH, fields))
    assert.equal(response.statusCode, status)
    assert.match(textOf(response), message)
    assert.ok(!response.body.includes('<script>alert'))
    assert.ok(response.body.includes(`action="${PATH}"`), 'the form can be sent again')
    assert.equal(response.headers['referrer-policy'], 'strict-origin')
  }
  assert.equal(await countUsers(service), 1)
  assert.equal((await service.app.inject(submit(PATH, FIELDS))).statusCode, 303)
})

test('303: the link leads to no form after its use, and as soon as there is an admin', async (t) => {
  const used = await start(t)
  assert.equal((await used.app.inject(submit(PATH, FIELDS))).headers.location, '/console/')
  const promoted = await start(t)
  const mia = await member(promoted)
  await promoted.services.userAdministration.makeAdmin(OPERATOR, mia.id)
  const created = await start(t)
  await admin(created)
  for (const service of [used, promoted, created]) {
    for (const request of [visit(PATH), submit(PATH, { ...FIELDS, email: 'second@example.com' })]) {
      const response = await service.app.inject(request)
      assert.deepEqual([response.statusCode, response.headers.location], [303, '/console/sign-in'])
      assert.match(String(response.headers['set-cookie']), /^latchkey-notice=admin-exists;/)
    }
    for (const request of [visit(PLAIN_PATH), submit(PLAIN_PATH, FIELDS)])
      assert.equal((await service.app.inject(request)).statusCode, 404, 'only the link says so')
    assert.equal(await countUsers(service), 1)
  }
})

test('303: of many forms at once, one creates an admin', async (t) => {
  const service = await start(t)
  const forms = Array.from({ length: 8 }, (_, n) => submit(PATH, { ...FIELDS, email: `boss${n}@example.com` }))
  const responses = await Promise.all(forms.map((form) => service.app.inject(form)))
  assert.deepEqual(responses.map(({ headers }) => headers.location).sort(), [
    '/console/',
    ...Array.from({ length: 7 }, () => '/console/sign-in'),
  ])
  assert.equal(await countUsers(service), 1)
})

for (const WORKERS of ['1', '2']) {
  plainTest(`the terminal shows a link only while there is no admin, and ${WORKERS} workers accept it once`, async (t) => {
    const folder = temporaryFolder(t)
    const first = await startProcess(t, { WORKERS }, folder)
    await until('every worker listens', () => first.output().split('"msg":"listening"').length === Number(WORKERS) + 1)
    const url = firstAdminUrl(first) ?? assert.fail(first.output())
    assert.match(url, /\/console\/first-admin\?token=[\w-]{24}$/)
    const { payload, headers } = submit(url, FIELDS)
    let unavailable = 0
    // Each on its own connection, so that the workers take turns. A busy machine may hash too slowly for a request: it is sent again.
    const send = (to: string, body: string) =>
      eventually('the service is available', async () => {
        const sent = { ...(headers as Record<string, string>), connection: 'close' }
        const response = await fetch(to, { method: 'POST', redirect: 'manual', headers: sent, body })
        if (response.status !== 503) return response
        unavailable++
        return undefined
      })
    for (let n = 0; n < 4; n++) assert.equal((await send(`${url}x`, String(payload))).status, 404)
    unavailable = 0
    const locations: (string | null)[] = []
    for (let n = 0; n < 4; n++) locations.push((await send(url, String(payload))).headers.get('location'))
    // The request that has created the admin signs in as well, and may have been too slow for that.
    const accepted = unavailable > 0 && locations[0] !== '/console/' ? '/console/sign-in' : '/console/'
    assert.deepEqual(locations, [accepted, '/console/sign-in', '/console/sign-in', '/console/sign-in'])
    first.process.kill('SIGTERM')
    await until('it has stopped', () => first.process.exitCode !== null)
    const second = await startProcess(t, { WORKERS }, folder)
    assert.equal(firstAdminUrl(second), undefined)
    const signedIn = await send(`${second.url}/console/sign-in`, new URLSearchParams(credentials(FIELDS)).toString())
    assert.deepEqual([signedIn.status, signedIn.headers.get('location')], [303, '/console/'])
  })
}

plainTest('the terminal shows no link for a service that others can reach', async (t) => {
  for (const env of [{ HOST: '0.0.0.0' }, { BASE_URL: 'https://accounts.example.com' }, { CONSOLE_ENABLED: 'false' }] as Record<
    string,
    string
  >[]) {
    const service = await startProcess(t, env)
    assert.match(service.output(), /First admin +/)
    assert.doesNotMatch(service.output(), /first-admin\?/)
  }
})
