import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusals } from '../../../src/http/answers/replies.ts'
import { Type } from '../../../src/http/validation/schema.ts'
import { createSiteAssets } from '../../../src/http/web/site/assets.ts'
import { createPages } from '../../../src/http/web/site/pages.ts'
import { createSite } from '../../../src/http/web/site/site.ts'
import { NO_BRAND } from '../../../src/model/brand.ts'
import { Refusal } from '../../../src/model/refusal.ts'
import { refused } from '../../support/app/assertions.ts'
import { startApp } from '../../support/app/start-app.ts'
import { startSkeleton } from '../../support/http/http-app.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

test('404, 405: a browser gets a page with the same status and headers, a program gets JSON', async (t) => {
  const { app } = await startApp(t, { env: { API_TITLE: 'Acme & <Sons>', BASE_URL: 'https://acme.example.com/auth' } })
  const cases = [
    ['GET', '/nothing/<b>', 404, 'Not Found', 'Page not found'],
    ['GET', '/%', 404, 'Not Found', 'Page not found'],
    ['GET', '/metrics', 404, 'Not Found', 'Page not found'],
    ['POST', '/heartbeat', 405, 'Method Not Allowed', 'This request is not supported'],
  ] as const
  for (const [method, url, status, detail, title] of cases) {
    const program = await app.inject({ method, url })
    refused(program, status, detail)
    const page = await app.inject({ method, url, headers: BROWSER })
    assert.equal(page.statusCode, status, url)
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    assert.match(
      String(page.headers['content-security-policy']),
      /^default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
    )
    assert.equal(page.headers.allow, program.headers.allow)
    assert.equal(page.headers['x-error-code'], program.headers['x-error-code'])
    assert.ok(page.body.includes(`<h1>${title}</h1>`), page.body)
    assert.ok(page.body.includes('<title>') && page.body.includes('Acme &amp; &lt;Sons&gt;'))
    assert.ok(page.body.includes('href="/auth/"') && !page.body.includes('<b>'))
  }
})

test('500, 503: a browser gets a page with the request id and without the reason, a program gets JSON', async (t) => {
  const site = { apiTitle: 'Acme', baseUrl: 'https://acme.example.com', frontendUrl: 'https://app.example.com/"', brand: NO_BRAND }
  const enabled = {
    consoleEnabled: true,
    accountPagesEnabled: true,
    selfDeletion: false,
    providers: [],
    emailSignIn: false,
    securityNotices: false,
    returnOrigins: [],
  }
  const pages = createPages(createSite({ ...site, ...enabled }, createSiteAssets(NO_BRAND), Date.now))
  const app = startSkeleton(
    t,
    (routes) => {
      for (const [url, error] of [
        ['/failed', new Error('secret detail')],
        ['/unavailable', new Refusal('unavailable', 'secret detail')],
      ] as const) {
        const schema = { response: { 200: Type.Unknown(), ...refusals(503) } }
        routes.get(url, { config: { access: 'public', writes: false }, schema }, async () => {
          throw error
        })
      }
    },
    { errorPage: pages.error },
  )
  for (const [url, status, title] of [
    ['/failed', 500, 'Something went wrong'],
    ['/unavailable', 503, 'Temporarily unavailable'],
  ] as const) {
    const { statusCode, headers, body } = await app.inject({ url, headers: BROWSER })
    assert.deepEqual([statusCode, headers['retry-after']], [status, status === 503 ? '2' : undefined])
    assert.equal(headers['x-error-code'], status === 503 ? 'unavailable' : 'internal_error')
    assert.ok(body.includes(`<h1>${title}</h1>`) && body.includes(`Request ID: ${headers['x-request-id']}`), body)
    assert.ok(body.includes('href="https://app.example.com/&quot;"') && !body.includes('secret'))
    assert.deepEqual(Object.keys((await app.inject(url)).json()), ['detail'])
  }
})

test('401: the API answers a browser without credentials with JSON, as it answers every client', async (t) => {
  const { app } = await startApp(t)
  refused(await app.inject({ url: '/users/me', headers: BROWSER }), 401, 'Not authenticated. Use either JWT token or API key.')
})
