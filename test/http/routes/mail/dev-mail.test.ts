import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as plainTest } from 'node:test'
import type { InjectOptions } from 'fastify'
import { refused } from '../../../support/app/assertions.ts'
import { until } from '../../../support/app/eventually.ts'
import { DEV_MAIL_TOKEN, startApp, type TestApp } from '../../../support/app/start-app.ts'
import { temporaryFolder, test } from '../../../support/databases/databases.ts'
import { readApiDocument } from '../../../support/http/openapi.ts'
import { ORIGIN } from '../../../support/http/origins.ts'
import { rawAnswer } from '../../../support/http/raw-answer.ts'
import { newEmail, PASSWORD } from '../../../support/http/requests.ts'
import { devMailUrl, startProcess, untilPrinted } from '../../../support/processes/service-process.ts'

const PLAIN_PATH = '/dev/mail'
const PATH = `${PLAIN_PATH}?token=${DEV_MAIL_TOKEN}`

async function register({ services, mailbox }: TestApp, email: string): Promise<string> {
  await services.registration.register(ORIGIN, { email, password: PASSWORD, firstName: 'Mia', lastName: 'Muster' })
  return mailbox.linkFor(email)
}

function read({ app }: TestApp, options: Partial<InjectOptions> = {}) {
  return app.inject({ method: 'GET', url: PATH, ...options })
}

test('200: the kept mails, newest first, with their links', async (t) => {
  const service = await startApp(t)
  const { app, clock } = service
  const [mia, bob] = [newEmail(), newEmail()]
  const first = await register(service, mia)
  clock.advance({ minutes: 1 })
  await register(service, bob)
  clock.advance({ minutes: 1 })
  await service.services.passwordReset.request(ORIGIN, mia)
  const second = await service.mailbox.linkFor(mia)
  const response = await app.inject({ method: 'GET', url: `${PATH}&to=${mia.toUpperCase()}` })
  assert.equal(response.statusCode, 200)
  const mails = response.json<{ to: string; subject: string; text: string; links: string[]; at: string }[]>()
  assert.deepEqual(
    mails.map(({ text, ...mail }) => mail),
    [
      { to: mia, subject: 'Reset your password for Latchkey', links: [second], at: new Date(clock.now()).toISOString() },
      { to: mia, subject: 'Verify your email address for Latchkey', links: [first], at: new Date(clock.now() - 120_000).toISOString() },
    ],
  )
  assert.match(mails[0]?.text ?? '', /^Hello Mia,\n\nWe received a request to reset/)
  assert.deepEqual(
    (await read(service)).json<{ to: string }[]>().map(({ to }) => to),
    [mia, bob, mia],
  )
})

plainTest('200: no mails are an empty list', async (t) => {
  const service = await startApp(t)
  assert.deepEqual((await read(service, { url: `${PATH}&to=nobody@example.com` })).json(), [])
})

/** Requests that must not read mails, although the service runs for development. */
const ATTACKS: Readonly<Record<string, Partial<InjectOptions>>> = {
  'a client on another machine': { remoteAddress: '203.0.113.9' },
  'a client in the same network': { remoteAddress: '192.168.1.20' },
  'a client that connects by IPv6': { remoteAddress: '2001:db8::1' },
  'a client whose IPv4 address is written as IPv6': { remoteAddress: '::ffff:203.0.113.9' },
  'a client that claims to be local': { remoteAddress: '203.0.113.9', headers: { 'x-forwarded-for': '127.0.0.1' } },
  'a request that a proxy forwards': { headers: { 'x-forwarded-for': '203.0.113.9' } },
  'a forwarded request with a forged address': { headers: { 'x-forwarded-for': '127.0.0.1, 203.0.113.9' } },
  'a forwarded request (RFC 7239)': { headers: { forwarded: 'for=127.0.0.1' } },
  'a request through a proxy that only names itself': { headers: { via: '1.1 proxy' } },
  'a name that resolves to this machine': { headers: { host: 'evil.example' } },
  'a name that begins like a local one': { headers: { host: 'localhost.evil.example:8000' } },
  'a name that begins like a local address': { headers: { host: '127.0.0.1.evil.example' } },
  'a name that ends like a local one': { headers: { host: 'evil-localhost' } },
  'another spelling of the address': { headers: { host: '2130706433' } },
  'a short spelling of the address': { headers: { host: '127.1' } },
  'the address of all interfaces': { headers: { host: '0.0.0.0:8000' } },
  'a host with a user': { headers: { host: 'evil.example@localhost' } },
  'a host with two ports': { headers: { host: 'localhost:80:80' } },
  'a page of another site': { headers: { origin: 'https://evil.example' } },
  'a page on another port of this machine': { headers: { host: 'localhost:8000', origin: 'http://localhost:3000' } },
  'a page without an origin, such as a sandboxed frame': { headers: { origin: 'null' } },
  'a page of this machine over https': { headers: { host: 'localhost', origin: 'https://localhost' } },
  'a request through a proxy in the cloud': { headers: { 'x-envoy-external-address': '127.0.0.1' } },
  'a request through a content delivery network': { headers: { 'cdn-loop': 'cloudflare' } },
  'a request with the address of its client': { headers: { 'fastly-client-ip': '127.0.0.1' } },
  'a script tag on another site': { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' } },
  'a page on a sibling site': { headers: { 'sec-fetch-site': 'same-site' } },
}

for (const trustProxy of ['false', 'true']) {
  plainTest(`404: only programs on this machine can read mails, with TRUST_PROXY ${trustProxy}`, async (t) => {
    const service = await startApp(t, { env: { TRUST_PROXY: trustProxy } })
    await register(service, newEmail())
    for (const [attack, options] of Object.entries(ATTACKS)) {
      for (const url of [PATH, `${PLAIN_PATH}/?token=${DEV_MAIL_TOKEN}`, `/api/v1${PATH}`, `${PATH}&to=%00`]) {
        for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS'] as const) {
          const response = await read(service, { ...options, method, url })
          assert.equal(response.statusCode, 404, `${attack}: ${method} ${url}`)
          assert.equal(response.headers['access-control-allow-origin'], undefined, attack)
        }
      }
      refused(await read(service, options), 404, 'Not Found')
    }
  })
}

/** The names of this machine, and its addresses. */
const LOCAL: readonly Partial<InjectOptions>[] = [
  { headers: { host: 'localhost' } },
  { headers: { host: 'LOCALHOST:8000' } },
  { headers: { host: '127.0.0.1:8000' }, remoteAddress: '127.0.0.1' },
  { headers: { host: '127.8.9.10' }, remoteAddress: '127.8.9.10' },
  { headers: { host: '[::1]:8000' }, remoteAddress: '::1' },
  { headers: { host: 'localhost' }, remoteAddress: '::ffff:127.0.0.1' },
  { headers: { host: 'localhost:8000', origin: 'http://localhost:8000', 'sec-fetch-site': 'same-origin' } },
  { headers: { host: 'localhost:8000', 'sec-fetch-site': 'none' } },
]

plainTest('200: a program on this machine reads mails, and no response has CORS headers', async (t) => {
  const service = await startApp(t, { env: { CORS_ORIGINS: '*' } })
  for (const options of LOCAL) {
    for (const url of [PATH, `${PATH}&to=no-address`]) {
      const { statusCode, headers } = await read(service, { ...options, url })
      assert.equal(statusCode, url === PATH ? 200 : 422, JSON.stringify(options))
      assert.deepEqual(
        Object.keys(headers).filter((name) => name.startsWith('access-control-')),
        [],
      )
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
    }
  }
})

plainTest('a preflight does not allow a page to read mails', async (t) => {
  const service = await startApp(t)
  for (const origin of ['https://evil.example', 'http://localhost:80', 'http://localhost:3000']) {
    const { statusCode, headers } = await read(service, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' },
    })
    assert.ok(statusCode === 404 || statusCode === 405)
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.startsWith('access-control-')),
      [],
    )
  }
})

/** Settings with which the path does not exist, even for a local client. */
const DISABLING: readonly Readonly<Record<string, string>>[] = [
  { HOST: '0.0.0.0' },
  { HOST: '::' },
  { HOST: '192.168.1.20' },
  { HOST: 'accounts.example.com' },
  { SMTP_URL: 'smtp://localhost:2525' },
  { BASE_URL: 'https://accounts.example.com' },
  { BASE_URL: 'http://localhost.evil.example' },
]

for (const env of DISABLING) {
  plainTest(`404: there is no mailbox with ${JSON.stringify(env)}`, async (t) => {
    const service = await startApp(t, { env })
    refused(await read(service), 404, 'Not Found')
  })
}

for (const HOST of ['127.0.0.1', 'localhost', '::1', '[::1]', '127.1.2.3']) {
  plainTest(`200: there is a mailbox with HOST ${HOST}`, async (t) => {
    assert.equal((await read(await startApp(t, { env: { HOST } }))).statusCode, 200)
  })
}

plainTest('the mailbox is in /openapi.json, also where the settings disable it', async (t) => {
  const { paths } = await readApiDocument(t, { HOST: '0.0.0.0' })
  assert.ok(paths['/dev/mail']?.['get'])
})

plainTest('the mails of a real process can be read, and other files in the folder cannot', async (t) => {
  const folder = temporaryFolder(t)
  const service = await startProcess(t, {}, folder)
  const email = newEmail()
  const body = JSON.stringify({ email, password: PASSWORD, first_name: 'Mia', last_name: 'Muster' })
  await fetch(`${service.url}/register/`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  await untilPrinted(service, new RegExp(`Mail to ${email}`))
  const mails = join(folder, 'data', 'mail')
  writeFileSync(join(mails, 'notes.txt'), 'private')
  writeFileSync(join(mails, '2099-01-01T00-00-00.000Z-000001-x@example.com-00000000.eml'), Buffer.alloc(1_000_001, 'x'))
  writeFileSync(join(mails, '2098-01-01T00-00-00.000Z-000001-x@example.com-00000000.eml'), Buffer.from([0, 255, 0, 10, 10]))
  const listed = (await (await fetch(devMailUrl(service))).json()) as { to: string; links: string[] }[]
  assert.deepEqual(
    listed.map(({ to }) => to),
    [email],
  )
  const link = listed[0]?.links[0] ?? ''
  assert.equal((await fetch(link.replace(/^http:\/\/[^/]+/, service.url))).status, 200)
  const { port, host, pathname, search } = new URL(devMailUrl(service))
  const versions = ['1.0', '1.1'].map((version) => `GET ${pathname}${search} HTTP/${version}\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  const [old = '', current = ''] = await Promise.all(versions.map((request) => rawAnswer(Number(port), request)))
  assert.deepEqual([old.slice(0, 12), current.slice(0, 12)], ['HTTP/1.1 404', 'HTTP/1.1 200'], 'only a proxy speaks HTTP/1.0')
  // HTTP/1.0 needs no Host header.
  assert.match(await rawAnswer(Number(port), `GET ${pathname}${search} HTTP/1.0\r\n\r\n`), /^HTTP\/1\.1 40[04] /)
})

/** What somebody sends who does not have the token. */
const WRONG_TOKENS = [
  '',
  '?token',
  '?token=',
  '?token=wrong',
  `?token=${DEV_MAIL_TOKEN.slice(0, -1)}`,
  `?token=${DEV_MAIL_TOKEN}x`,
  `?token=${DEV_MAIL_TOKEN.toUpperCase()}`,
  `?token=${DEV_MAIL_TOKEN}&token=${DEV_MAIL_TOKEN}`,
  `?token[]=${DEV_MAIL_TOKEN}`,
  `?Token=${DEV_MAIL_TOKEN}`,
  `?to=mia@example.com;token=${DEV_MAIL_TOKEN}`,
]

plainTest('404: without the token there is no mailbox, whatever the method and the rest of the request', async (t) => {
  const service = await startApp(t, { env: { LOG_LEVEL: 'trace' } })
  const { mailbox, app } = service
  await register(service, newEmail())
  assert.equal((await mailbox.messages()).length, 1)
  for (const query of WRONG_TOKENS) {
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS'] as const) {
      const headers = { authorization: `Bearer ${DEV_MAIL_TOKEN}`, 'x-api-key': DEV_MAIL_TOKEN, cookie: `token=${DEV_MAIL_TOKEN}` }
      const response = await app.inject({ method, url: `${PLAIN_PATH}${query}`, headers })
      assert.deepEqual([response.statusCode, response.headers['x-error-code'], response.headers.allow], [404, 'path_not_found', undefined])
    }
    refused(await read(service, { url: `${PLAIN_PATH}${query}${query === '' ? '?' : '&'}to=no-address` }), 404, 'Not Found')
  }
  assert.equal((await read(service)).statusCode, 200)
  assert.equal((await read(service, { method: 'POST' })).statusCode, 405)
  assert.ok(service.logged.length > 10)
  assert.ok(!service.logged.some((line) => line.includes(DEV_MAIL_TOKEN)), 'no line of the log contains the token')
})

for (const WORKERS of ['1', '2']) {
  plainTest(`each start prints another token, which all of ${WORKERS} workers accept, or uses DEV_MAIL_TOKEN`, async (t) => {
    const starts = [{}, {}, { DEV_MAIL_TOKEN: 'a+b/c=&to=nobody' }].map((env) => startProcess(t, { WORKERS, LOG_LEVEL: 'trace', ...env }))
    const services = await Promise.all(starts)
    const tokens = services.map((service) => new URL(devMailUrl(service)).searchParams.get('token') ?? '')
    assert.ok(tokens[0] !== tokens[1] && tokens.slice(0, 2).every((token) => /^[\w-]{24}$/.test(token)), String(tokens))
    assert.equal(tokens[2], 'a+b/c=&to=nobody')
    for (const service of services) {
      await until('every worker listens', () => service.output().split('"msg":"listening"').length === Number(WORKERS) + 1)
      // Each on its own connection, so that the workers take turns.
      for (let n = 0; n < 6; n++) {
        const answer = await fetch(devMailUrl(service), { headers: { connection: 'close' } })
        assert.deepEqual([answer.status, await answer.json()], [200, []])
      }
    }
    for (const [index, service] of services.entries())
      assert.equal(service.output().split(encodeURIComponent(tokens[index] ?? '')).length, 2, 'the token is printed once')
  })
}
