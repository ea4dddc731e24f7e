import assert from 'node:assert/strict'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { startListening } from '../../../support/client/listening.ts'
import { test } from '../../../support/databases/databases.ts'
import { headAnswer } from '../../../support/http/raw-answer.ts'

const PAGES = ['/docs', '/docs/', '/api/v1/docs', '/api/v1/docs/', '/redoc', '/redoc/', '/api/v1/redoc', '/api/v1/redoc/', '/docs?a=/']

/** The URLs of the files that a page loads, resolved as a browser does. */
async function filesOf({ app }: TestApp, page: string): Promise<string[]> {
  const { body } = await app.inject(page)
  return [...body.matchAll(/(?:src|href|data-document)="([^"]*)"/g)].map(([, link]) => new URL(link ?? '', `http://host${page}`).pathname)
}

test('200: both explorers show the name of the service and load nothing from other hosts', async (t) => {
  const { app } = await startApp(t, { env: { API_TITLE: 'Acme & <Accounts>' } })
  for (const page of PAGES) {
    const { statusCode, headers, body } = await app.inject(page)
    assert.equal(statusCode, 200, page)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.match(body, /<title>Acme &amp; &lt;Accounts&gt; · API (?:explorer|reference)<\/title>/)
    assert.ok(!/https?:/.test(body), 'no absolute address')
    assert.ok(!/<script(?![^>]*src=)|<style|\son\w+=|style=/.test(body), 'nothing inline')
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; script-src 'self'; /)
    assert.ok(!/https?:|\*|unsafe-eval/.test(policy))
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.match(policy, /frame-ancestors 'none'/)
  }
})

test('200: an explorer belongs to no origin while a cookie opens pages, so that its scripts cannot use it', async (t) => {
  const enabled = await startApp(t)
  const oneEnabled = await startApp(t, { env: { CONSOLE_ENABLED: 'false' } })
  for (const { app } of [enabled, oneEnabled]) {
    for (const page of PAGES) {
      const policy = String((await app.inject(page)).headers['content-security-policy'])
      assert.match(policy, /; sandbox allow-scripts /, page)
      assert.doesNotMatch(policy, /allow-same-origin|allow-top-navigation/, page)
    }
  }
})

test('200: the files of a page exist, with or without a trailing slash and under /api/v1, and stay under it', async (t) => {
  const service = await startApp(t)
  for (const page of PAGES) {
    const files = await filesOf(service, page)
    assert.ok(files.length >= 4)
    for (const file of files) {
      assert.equal(file.startsWith('/api/v1/'), page.startsWith('/api/v1/'))
      assert.equal((await service.app.inject(file)).statusCode, 200, `${page} loads ${file}`)
    }
  }
})

test('200: files have the right content type, are cached forever and are compressed', async (t) => {
  const service = await startApp(t)
  const files = new Set([...(await filesOf(service, '/docs')), ...(await filesOf(service, '/redoc'))])
  files.delete('/openapi.json')
  const types: Record<string, string> = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' }
  for (const file of files) {
    const plain = await service.app.inject(file)
    assert.equal(plain.headers['content-type'], types[file.split('.').at(-1) ?? ''], file)
    assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.match(file, /^\/assets\/(?:[\w-]+-\d+\.\d+\.\d+|[0-9a-f]{12})\//)
    for (const [encoding, unpack] of [['br', brotliDecompressSync] as const, ['gzip', gunzipSync] as const]) {
      const packed = await service.app.inject({ url: file, headers: { 'accept-encoding': `deflate, ${encoding}` } })
      assert.equal(packed.headers['content-encoding'], encoding)
      assert.equal(packed.headers['vary'], 'Accept-Encoding')
      assert.ok(unpack(packed.rawPayload).equals(plain.rawPayload))
    }
  }
})

test('404: files of another version or outside the explorers', async (t) => {
  const { app } = await startApp(t)
  for (const url of [
    '/assets/',
    '/assets/swagger-ui-dist-0.0.1/swagger-ui.css',
    '/assets/redoc-3.0.1/package.json',
    '/assets/%2e%2e/package.json',
    '/assets/../package.json',
  ]) {
    assert.equal((await app.inject(url)).statusCode, 404, url)
  }
})

test('200, 304: a cached copy of the document is revalidated, and replaced if it differs', async (t) => {
  const { app } = await startApp(t)
  const first = await app.inject('/openapi.json')
  assert.equal(first.statusCode, 200)
  assert.equal(first.headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(first.headers['cache-control'], 'no-cache')
  const etag = String(first.headers['etag'])
  const again = await app.inject({ url: '/openapi.json', headers: { 'if-none-match': etag } })
  assert.deepEqual([again.statusCode, again.body, again.headers['etag']], [304, '', etag])
  const other = await app.inject({ url: '/api/v1/openapi.json', headers: { 'if-none-match': 'W/"another"', 'accept-encoding': 'gzip' } })
  assert.equal(other.statusCode, 200)
  assert.equal(gunzipSync(other.rawPayload).toString(), first.body)
})

test('200: a page of another origin may read the document', async (t) => {
  const { app } = await startApp(t)
  const { headers } = await app.inject({ url: '/openapi.json', headers: { origin: 'https://tools.example.com' } })
  assert.equal(headers['access-control-allow-origin'], '*')
})

test('405: the explorers and the document accept GET and HEAD only', async (t) => {
  const service = await startListening(t)
  for (const path of ['/docs', '/redoc', '/openapi.json', '/']) {
    const response = await fetch(service.url + path, { method: 'POST' })
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD'])
    const { status, header, body } = await headAnswer(service.url + path)
    const got = await service.app.inject({ url: path })
    assert.deepEqual([status, header('content-length'), body], [200, got.headers['content-length'], ''])
  }
})
