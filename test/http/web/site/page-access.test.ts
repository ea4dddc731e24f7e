import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { admin, keyHolder, member } from '../../../support/app/actors.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { operationsOf, readApiDocument } from '../../../support/http/openapi.ts'
import { pageOf } from '../../../support/http/page-routes.ts'
import { SAME_ORIGIN, signIn, submit, visit } from '../../../support/http/pages.ts'
import { EVERY_ROUTE, routesDuring } from '../../../support/http/routes.ts'

/** The pages that need a session. */
const isProtected = ({ name }: PageRoute) => pageOf(name).access !== 'public'

type PageRoute = { readonly name: string; readonly method: 'GET' | 'POST'; readonly url: string; readonly isConsole: boolean }

async function startWithPages(
  t: Parameters<typeof startApp>[0],
  env: Record<string, string> = EVERY_ROUTE,
): Promise<TestApp & { pages: PageRoute[] }> {
  const { routes, started } = await routesDuring(() => startApp(t, { env }))
  const pages = [...routes].filter((name) => /^(?:GET|POST) \/(?:console|account)(?:\/|$)/.test(name)).map(readRoute)
  assert.ok(pages.length > 5)
  return { ...started, pages }
}

function readRoute(name: string): PageRoute {
  const [method, path = ''] = name.split(' ')
  const url = path.replace(':user_id', '999999').replace(':key_id', randomUUID()).replace(/:\w+/g, '999999')
  return { name, method: method === 'GET' ? 'GET' : 'POST', url, isConsole: path.startsWith('/console') }
}

function requestTo({ method, url }: PageRoute, cookie?: string): InjectOptions {
  return method === 'GET' ? visit(url, cookie) : submit(url, {}, cookie)
}

test('303 or 401: without a session, a GET leads to sign-in and a POST is refused', async (t) => {
  const { app, pages } = await startWithPages(t)
  for (const page of pages.filter(isProtected)) {
    const response = await app.inject(requestTo(page))
    assert.equal(response.statusCode, page.method === 'GET' ? 303 : 401, page.name)
    if (page.method === 'GET')
      assert.match(String(response.headers.location), page.isConsole ? /^\/console\/sign-in/ : /^\/account\/sign-in/)
    else assert.match(String(response.headers['content-type']), /^text\/html/)
  }
})

test('303 or 401: neither a token nor an API key opens a page, in a header or in the cookie', async (t) => {
  const service = await startWithPages(t)
  const { app, pages } = service
  const boss = await admin(service)
  const { key } = await keyHolder(service, boss)
  const cookie = await signIn(app, boss)
  const [, value = ''] = /latchkey=([^;]+)/.exec(cookie) ?? []
  // Each area has a cookie of its own.
  const inBoth = (token: string) => ({ cookie: `latchkey=${token}; latchkey-console=${token}` })
  const wrong: Record<string, string>[] = [
    boss.headers as Record<string, string>,
    { 'x-api-key': key },
    { authorization: `Bearer ${value}` },
    inBoth(boss.token),
    inBoth(boss.refresh),
    inBoth(key),
    inBoth(`${value}x`),
    inBoth(`"${value}"`),
    { cookie: `Latchkey=${value}; Latchkey-console=${value}` },
    { cookie: `xlatchkey=${value}` },
    { cookie: 'latchkey=' },
  ]
  for (const page of pages.filter(isProtected)) {
    for (const headers of wrong) {
      const request = requestTo(page)
      const response = await app.inject({ ...request, headers: { ...request.headers, ...headers } })
      assert.equal(response.statusCode, page.method === 'GET' ? 303 : 401, `${page.name} ${JSON.stringify(headers)}`)
    }
  }
})

test('401: the cookie opens no route of the API', async (t) => {
  const service = await startWithPages(t)
  const boss = await admin(service)
  const cookie = await signIn(service.app, boss)
  const value = cookie.slice(cookie.indexOf('=') + 1)
  const protectedRoutes = operationsOf(await readApiDocument(t)).filter(({ operation }) => operation.security.length > 0)
  assert.ok(protectedRoutes.length > 20)
  for (const { method, path } of protectedRoutes) {
    const url = path.replace(/\{key_id\}/, randomUUID()).replace(/\{\w+\}/g, String(boss.id))
    for (const headers of [{ cookie }, { authorization: `Bearer ${value}` }, { 'x-api-key': value }] as Record<string, string>[]) {
      const { statusCode } = await service.app.inject({ method, url, headers: { ...SAME_ORIGIN, ...headers } })
      assert.equal(statusCode, 401, `${method} ${path} ${Object.keys(headers)}`)
    }
  }
  const introspection = { method: 'POST', url: '/auth/introspect', headers: boss.headers, payload: { token: value } } as const
  assert.deepEqual((await service.app.inject(introspection)).json(), { active: false })
  const refresh = await service.app.inject({ method: 'POST', url: '/refresh/', payload: { refresh: value } })
  assert.equal(refresh.statusCode, 401)
})

test('403: a user who is not an admin sees no page of the console, and is led to their account', async (t) => {
  const service = await startWithPages(t)
  const { app, pages } = service
  const cookie = await signIn(app, await member(service))
  for (const page of pages.filter(({ name }) => pageOf(name).access === 'admin')) {
    const response = await app.inject(requestTo(page, cookie))
    assert.equal(response.statusCode, 403, page.name)
    assert.match(response.body, /<a class="button primary" href="\/account\/">Go to your account<\/a>/)
    assert.match(String(response.headers['content-type']), /^text\/html/)
  }
  assert.equal((await app.inject(visit('/account/', cookie))).statusCode, 200)
})

test('403: a form of another site changes nothing', async (t) => {
  const service = await startWithPages(t)
  const { app, pages } = service
  const cookie = await signIn(app, await admin(service))
  const host = 'accounts.example.com'
  const refused: Record<string, string>[] = [
    {},
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': '' },
    { 'sec-fetch-site': 'cross-site', origin: `http://${host}` },
    { origin: 'null' },
    { origin: 'https://evil.example' },
    { origin: `https://${host}.evil.example` },
    { origin: `https://evil-${host}` },
    { origin: `https://${host}:8443` },
    { origin: `https://user@${host}` },
    { origin: `https://${host}/` },
    { origin: host },
    { referer: `https://${host}/console/` },
  ]
  const forms = pages.filter(({ method }) => method === 'POST')
  for (const page of forms) {
    for (const headers of refused) {
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      const response = await app.inject({ method: 'POST', url: page.url, headers: { host, cookie, ...type, ...headers }, payload: '' })
      assert.equal(response.statusCode, 403, `${page.name} ${JSON.stringify(headers)}`)
    }
  }
  const accepted: Record<string, string>[] = [
    { 'sec-fetch-site': 'same-origin' },
    { origin: `https://${host}` },
    { origin: `http://${host}` },
  ]
  for (const headers of accepted) {
    const response = await app.inject({ method: 'POST', url: '/console/sign-in', headers: { host, ...headers } })
    assert.equal(response.statusCode, 422)
  }
})

test('403: with an https BASE_URL, a form over http comes from another site', async (t) => {
  const host = 'accounts.example.com'
  const { app, pages } = await startWithPages(t, { ...EVERY_ROUTE, BASE_URL: `https://${host}` })
  const post = (url: string, headers: Record<string, string>) => app.inject({ method: 'POST', url, headers: { host, ...headers } })
  for (const { name, url } of pages.filter(({ method }) => method === 'POST')) {
    for (const origin of [`http://${host}`, `http://${host}:443`, `https://${host}:80`, `HTTP://${host}`, 'null', '', `//${host}`])
      assert.equal((await post(url, { origin })).statusCode, 403, `${name} ${origin}`)
  }
  for (const headers of [{ origin: `https://${host}` }, { origin: `https://${host}`, host: 'Accounts.Example.COM' }, SAME_ORIGIN])
    assert.equal((await post('/console/sign-in', headers)).statusCode, 422)
})

test('every page has a policy without inline code, cannot be framed or cached, and is not in the OpenAPI document', async (t) => {
  const service = await startWithPages(t)
  const { app, pages } = service
  const cookie = await signIn(app, await admin(service))
  for (const page of pages.filter(({ method }) => method === 'GET')) {
    const { headers, statusCode } = await app.inject(requestTo(page, cookie))
    assert.ok([200, 303, 404].includes(statusCode), `${page.name} ${statusCode}`)
    if (statusCode === 303) continue
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none';.*frame-ancestors 'none'/, page.name)
    assert.doesNotMatch(policy, /unsafe|\*|https?:/)
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['access-control-allow-credentials'], undefined)
  }
  const { paths } = await readApiDocument(t)
  assert.deepEqual(
    Object.keys(paths).filter((path) => /^\/(?:console|account)/.test(path)),
    [],
  )
})

test('404: disabled pages are like paths that do not exist', async (t) => {
  for (const [setting, area] of [
    ['CONSOLE_ENABLED', 'console'],
    ['ACCOUNT_PAGES_ENABLED', 'account'],
  ] as const) {
    const service = await startWithPages(t, { [setting]: 'false' })
    const { app, pages } = service
    const boss = await admin(service)
    const other = area === 'console' ? 'account' : 'console'
    const signedIn = await app.inject(submit(`/${other}/sign-in`, { email: boss.email, password: boss.password }))
    assert.equal(signedIn.statusCode, 303)
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? ''
    assert.equal((await app.inject(visit(`/${other}/`, cookie))).statusCode, 200)
    for (const page of pages.filter(({ isConsole }) => isConsole === (area === 'console')))
      assert.equal((await app.inject(requestTo(page, cookie))).statusCode, 404, page.name)
    const { body } = await app.inject(visit(`/${other}/sign-in`, cookie))
    assert.ok(!body.includes(`href="/${area}/`), 'nothing links to a disabled page')
  }
})

test('a page weighs less than 60 KB with its stylesheet and its script, which browsers keep', async (t) => {
  const service = await startWithPages(t)
  const cookie = await signIn(service.app, await admin(service))
  const page = await service.app.inject(visit('/console/users', cookie))
  let bytes = Buffer.byteLength(page.body)
  for (const [, url = ''] of page.body.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)) {
    const asset = await service.app.inject(url)
    assert.deepEqual([asset.statusCode, asset.headers['cache-control']], [200, 'public, max-age=31536000, immutable'])
    bytes += asset.rawPayload.length
  }
  assert.ok(bytes < 60 * 1024, `${bytes} bytes`)
})
