import assert from 'node:assert/strict'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const ENV = { API_TITLE: 'Acme <Accounts>', BASE_URL: 'https://acme.example.com/auth' }

test('200: a program gets the name, the version and the links as JSON', async (t) => {
  const { app } = await startApp(t, { env: ENV })
  const response = await app.inject('/')
  assert.equal(response.statusCode, 200)
  const { version, ...rest } = response.json()
  assert.match(version, /^\d+\.\d+\.\d+/)
  assert.deepEqual(rest, {
    name: 'Acme <Accounts>',
    docs: 'https://acme.example.com/auth/docs',
    redoc: 'https://acme.example.com/auth/redoc',
    openapi: 'https://acme.example.com/auth/openapi.json',
    heartbeat: 'https://acme.example.com/auth/heartbeat',
  })
  assert.equal(response.headers['vary'], 'Accept')
})

test('200: a browser gets a page with links below the path of BASE_URL, and without scripts', async (t) => {
  const { app } = await startApp(t, { env: ENV })
  const response = await app.inject({ url: '/', headers: BROWSER })
  assert.equal(response.statusCode, 200)
  assert.equal(response.headers['content-type'], 'text/html; charset=utf-8')
  assert.match(
    String(response.headers['content-security-policy']),
    /^default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
  )
  assert.ok(response.body.includes('Acme &lt;Accounts&gt;'))
  assert.ok(!/<script|<Accounts>/.test(response.body))
  const links = [...response.body.matchAll(/<a (?:class="[^"]*" )?href="([^"]*)"/g)].map(([, href]) => href)
  const documentation = ['/auth/docs', '/auth/redoc', '/auth/openapi.json']
  assert.deepEqual(links, ['/auth/account/sign-in', '/auth/account/register', '/auth/console/sign-in', ...documentation])
  assert.match(response.body, /Version \d+\.\d+\.\d+/)
})

test('200: the page leads to the account pages and the console only where they are enabled', async (t) => {
  const { app } = await startApp(t, { env: { CONSOLE_ENABLED: 'false', ACCOUNT_PAGES_ENABLED: 'false' } })
  assert.doesNotMatch((await app.inject({ url: '/', headers: BROWSER })).body, /console|sign-in/)
})

test('200: every link of the page works', async (t) => {
  const { app } = await startApp(t)
  const page = (await app.inject({ url: '/', headers: BROWSER })).body
  for (const [, href = ''] of page.matchAll(/href="([^"]*)"/g)) assert.equal((await app.inject(href)).statusCode, 200, href)
})

test('200: the landing page is also available under /api/v1', async (t) => {
  const { app } = await startApp(t)
  const expected = (await app.inject('/')).body
  for (const url of ['/api/v1', '/api/v1/']) assert.equal((await app.inject(url)).body, expected)
})

test('200: with listed origins, Vary names both headers that the response depends on', async (t) => {
  const { app } = await startApp(t, { env: { CORS_ORIGINS: 'https://app.example.com' } })
  assert.equal((await app.inject('/')).headers['vary'], 'Origin, Accept')
  assert.equal((await app.inject('/openapi.json')).headers['vary'], 'Origin, Accept-Encoding')
})
