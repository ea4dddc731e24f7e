import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { startApp } from '../support/app/start-app.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { openBrowser, PATIENCE_MS } from '../support/servers/browser.ts'
import { type Certificate, makeCertificate } from '../support/servers/certificates.ts'
import { freePort } from '../support/servers/free-port.ts'
import { type FrontProxy, type ProxyResponse, send, sendBytes, startHaproxy, startNginx } from '../support/servers/front-proxies.ts'
import { serve } from '../support/servers/listen.ts'

const ORIGIN = 'https://app.example.com'
const FROM_BROWSER = { origin: ORIGIN }
const PREFLIGHT = { ...FROM_BROWSER, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' }
// Headers that a browser client depends on, or that protect it. The value of a request id differs from request to request.
const COMPARED = [
  'access-control-allow-origin',
  'access-control-expose-headers',
  'cache-control',
  'content-security-policy',
  'content-type',
  'referrer-policy',
  'x-content-type-options',
]
const BAD_BYTES = `GET /\u0001 HTTP/1.1\r\nHost: localhost\r\nOrigin: ${ORIGIN}\r\nConnection: close\r\n\r\n`

/** The headers of an error of the service itself. */
async function serviceHeaders(t: TestContext): Promise<Record<string, unknown>> {
  const { app } = await startApp(t)
  const { headers } = await app.inject({ url: '/nowhere', headers: FROM_BROWSER })
  return pick(headers)
}

function pick(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(COMPARED.map((name) => [name, headers[name]]))
}

function certificateFor(t: TestContext, command: string): Certificate | undefined {
  const certificate = spawnSync(command, ['-v'], { stdio: 'ignore' }).status === 0 ? makeCertificate(t) : undefined
  if (certificate === undefined) t.skip(`NOT RUN: ${command} or openssl is not installed`)
  return certificate
}

/** The port of a server that is ready, never answers `/hangs`, and closes the connection on `/breaks`. */
async function startFailingUpstream(t: TestContext): Promise<number> {
  const { port } = await serve(t, ({ url, socket }, response) => {
    if (url === '/breaks') socket.destroy()
    else if (url !== '/hangs') response.end()
  })
  return port
}

type Expected = readonly [status: number, code: string, detail: string, retryAfter?: string]

/** Asserts that an error of the proxy has the status, the body and the headers of an error of the service. */
function assertServiceFormat(
  response: ProxyResponse,
  [status, code, detail, retryAfter]: Expected,
  expected: Record<string, unknown>,
): void {
  assert.deepEqual([response.status, response.headers['x-error-code'], response.body], [status, code, JSON.stringify({ detail })])
  assert.deepEqual(pick(response.headers), expected, String(status))
  assert.deepEqual([response.headers['retry-after'], response.headers['strict-transport-security']], [retryAfter, 'max-age=31536000'])
  assert.match(String(response.headers['x-request-id']), /^[\w:]+$/)
}

/** Sends requests past the limit. The preflights before them neither count nor are limited. */
async function rejectedLogin({ port }: FrontProxy): Promise<ProxyResponse> {
  for (let count = 0; count < 40; count++) assert.equal((await send(port, 'OPTIONS', '/login/', PREFLIGHT)).status, 200)
  assert.equal((await send(port, 'POST', '/login/', FROM_BROWSER)).status, 200, 'preflights do not count')
  for (let count = 0; count < 30; count++) {
    const response = await send(port, 'POST', '/login/', FROM_BROWSER)
    if (response.status === 429) {
      assert.equal((await send(port, 'OPTIONS', '/login/', PREFLIGHT)).status, 200, 'preflights are not limited')
      return response
    }
  }
  throw new Error('30 logins were not limited')
}

test('nginx with deploy/nginx.conf returns its own errors in the format of the service, with CORS headers', async (t) => {
  const certificate = certificateFor(t, 'nginx')
  if (certificate === undefined) return
  const expected = await serviceHeaders(t)
  const proxy = await startNginx(t, await startFailingUpstream(t), certificate, { 'proxy_read_timeout 35s': 'proxy_read_timeout 5s' })
  const { port } = proxy
  const check = (response: ProxyResponse, ...row: Expected) => assertServiceFormat(response, row, expected)
  check(await rejectedLogin(proxy), 429, 'too_many_requests', 'Too many requests', '6')
  check(await send(port, 'GET', '/metrics', FROM_BROWSER), 404, 'path_not_found', 'Not Found')
  check(await send(port, 'GET', '/latchkey-error', FROM_BROWSER), 404, 'path_not_found', 'Not Found')
  check(await send(port, 'PUT', '/users/1', FROM_BROWSER, 'x'.repeat(64 * 1024 + 1)), 413, 'body_too_large', 'Request body is too large')
  check(
    await send(port, 'GET', '/', { ...FROM_BROWSER, cookie: 'x'.repeat(9000) }),
    431,
    'headers_too_large',
    'Request Header Fields Too Large',
  )
  check(await send(port, 'GET', '/hangs', FROM_BROWSER), 504, 'gateway_timeout', 'Gateway Timeout', '2')
  check(await send(port, 'GET', '/breaks', FROM_BROWSER), 502, 'bad_gateway', 'Bad Gateway', '2')
  // nginx reads no headers after a request line that is too long or not HTTP.
  const unknownOrigin = { ...expected, 'access-control-allow-origin': undefined, 'access-control-expose-headers': undefined }
  const longUrl = await send(port, 'GET', `/?${'x'.repeat(9000)}`, FROM_BROWSER)
  assertServiceFormat(longUrl, [414, 'uri_too_long', 'URI Too Long'], unknownOrigin)
  assertServiceFormat(await sendBytes(port, BAD_BYTES), [400, 'bad_request', 'Bad Request'], unknownOrigin)
  assertServiceFormat(await sendBytes(port, BAD_BYTES.replace('\u0001', ''), false), [400, 'bad_request', 'Bad Request'], expected)
  const withoutService = await startNginx(t, await freePort(), certificate)
  check(await send(withoutService.port, 'GET', '/', FROM_BROWSER), 502, 'bad_gateway', 'Bad Gateway', '2')
})

test('HAProxy with deploy/haproxy.cfg returns its own errors in the format of the service, with CORS headers', async (t) => {
  const certificate = certificateFor(t, 'haproxy')
  if (certificate === undefined) return
  const expected = await serviceHeaders(t)
  const upstream = await startFailingUpstream(t)
  const proxy = await startHaproxy(t, [upstream, upstream], certificate, { 'timeout server 35s': 'timeout server 5s' })
  const { port } = proxy
  const check = (response: ProxyResponse, ...row: Expected) => assertServiceFormat(response, row, expected)
  check(await rejectedLogin(proxy), 429, 'too_many_requests', 'Too many requests', '6')
  check(await send(port, 'GET', '/metrics', FROM_BROWSER), 404, 'path_not_found', 'Not Found')
  check(await send(port, 'GET', '/hangs', FROM_BROWSER), 504, 'gateway_timeout', 'Gateway Timeout', '2')
  check(await send(port, 'GET', '/breaks', FROM_BROWSER), 502, 'bad_gateway', 'Bad Gateway', '2')
  // The exception that the configuration names.
  assert.equal((await sendBytes(port, BAD_BYTES)).status, 400)
  const withoutService = await startHaproxy(t, [await freePort(), await freePort()], certificate)
  check(await send(withoutService.port, 'GET', '/', FROM_BROWSER), 503, 'unavailable', 'Service Unavailable', '2')
})

type BrowserView = { readonly status: number; readonly code: string | null; readonly retryAfter: string | null; readonly body: unknown }

/** Logs in from a page of another origin until the proxy rejects it, then sends a body that is too large. Returns what the page can read. */
async function readInBrowser(t: TestContext, pageUrl: string, url: string): Promise<BrowserView[]> {
  const browser = await openBrowser(t)
  const page = await browser.newPage({ ignoreHTTPSErrors: true })
  page.setDefaultTimeout(PATIENCE_MS)
  await page.goto(pageUrl)
  return page.evaluate(async (service) => {
    const call = async (method: string, path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(service + path, { method, headers, body: JSON.stringify(body) })
      const { status, headers: received } = response
      return { status, code: received.get('x-error-code'), retryAfter: received.get('retry-after'), body: await response.json() }
    }
    let rejected = await call('POST', '/login/', {})
    for (let count = 0; count < 30 && rejected.status !== 429; count++) rejected = await call('POST', '/login/', {})
    return [rejected, await call('PUT', '/users/1', { first_name: 'x'.repeat(70_000) })]
  }, url)
}

test('a page of another origin reads the errors of both proxies in a browser', async (t) => {
  const certificate = certificateFor(t, 'nginx') && certificateFor(t, 'haproxy')
  if (certificate === undefined) return
  const { url } = await startProcess(t)
  const upstream = Number(new URL(url).port)
  // Any server that sends no content security policy can serve the page.
  const pageUrl = `http://localhost:${await startFailingUpstream(t)}/`
  const rejected = { status: 429, code: 'too_many_requests', retryAfter: '6', body: { detail: 'Too many requests' } }
  const tooLarge = { status: 413, code: 'body_too_large', retryAfter: null, body: { detail: 'Request body is too large' } }
  const notAuthenticated = {
    status: 401,
    code: 'not_authenticated',
    retryAfter: null,
    body: { detail: 'Not authenticated. Use either JWT token or API key.' },
  }
  const nginx = await startNginx(t, upstream, certificate)
  assert.deepEqual(await readInBrowser(t, pageUrl, `https://127.0.0.1:${nginx.port}`), [rejected, tooLarge])
  const haproxy = await startHaproxy(t, [upstream, upstream], certificate)
  // HAProxy has no limit for bodies; the service rejects the caller before it reads the body.
  assert.deepEqual(await readInBrowser(t, pageUrl, `https://127.0.0.1:${haproxy.port}`), [rejected, notAuthenticated])
})
