import assert from 'node:assert/strict'
import { statement } from '../../../src/storage/database.ts'
import { member } from '../../support/app/actors.ts'
import { invalid } from '../../support/app/assertions.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { resetPage } from '../../support/http/requests.ts'

const BAN = statement('update users set banned = true where id = $1')
const SHAPED = 'aaaa.bbbb.cccc'

test('200: a valid code shows a form that posts the escaped code, and the page is neither cached nor framed', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const code = service.services.tokens.forMail('reset', mia.id, mia.resetVersion)
  const response = await service.app.inject(resetPage(code))
  assert.equal(response.statusCode, 200)
  assert.match(response.body, /<form method="post" action="\/reset-password\/">/)
  assert.ok(response.body.includes(`<input type="hidden" name="code" value="${code}">`))
  assert.equal(response.body.split(code).length, 2)
  assert.match(response.body, /name="new_password" type="password" autocomplete="new-password"/)
  assert.match(
    String(response.headers['content-security-policy']),
    /^default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
  )
  assert.deepEqual([response.headers['cache-control'], response.headers['referrer-policy']], ['no-store', 'no-referrer'])
})

test('200: an invalid code shows the reason, and neither the form nor the code', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const banned = await member(service)
  await service.db.run(BAN, banned.id)
  const { tokens } = service.services
  const expired = tokens.forMail('reset', mia.id, mia.resetVersion)
  service.clock.advance({ minutes: 31 })
  const cases: [string, string][] = [
    ['', 'Reset code is required'],
    [expired, 'That token has Expired'],
    [SHAPED, 'That token is Invalid'],
    ['<script>alert(1)</script>', 'That token is Invalid'],
    [`${'a'.repeat(1021)}.b.c`, 'That token is Invalid'],
    [tokens.forMail('reset', banned.id, banned.resetVersion), 'That token is Invalid'],
    [tokens.forMail('reset', mia.id, mia.resetVersion + 1), 'That token is Invalid'],
    [tokens.forMail('reset', 4711, 1), 'That token is Invalid'],
    [tokens.forMail('verify', mia.id, mia.emailVersion), 'That token is Invalid'],
    [mia.token, 'That token is Invalid'],
  ]
  for (const [code, message] of cases) {
    const response = await service.app.inject(resetPage(code))
    assert.equal(response.statusCode, 200, message)
    assert.match(response.headers['content-type'] ?? '', /^text\/html/)
    assert.ok(response.body.includes(`role="alert">${message}<`), message)
    assert.ok(!response.body.includes('<form'))
    if (code !== '') assert.ok(!response.body.includes(code))
  }
  assert.ok((await service.app.inject('/reset-password/')).body.includes('Reset code is required'))
})

test('302: with FRONTEND_URL, a well-formed code redirects there, whether or not it is valid', async (t) => {
  const service = await startApp(t, { env: { FRONTEND_URL: 'https://app.example.com/auth/' } })
  const response = await service.app.inject({ ...resetPage(SHAPED), headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' } })
  assert.deepEqual([response.statusCode, response.headers.location], [302, `https://app.example.com/auth/reset-password?code=${SHAPED}`])
})

test('200: with FRONTEND_URL, a malformed code does not redirect', async (t) => {
  const service = await startApp(t, { env: { FRONTEND_URL: 'https://app.example.com' } })
  const cases = ['', '//evil.example', 'a.b', 'a.b.c.d', 'a.b.c&next=//evil.example', 'a.b.c\u00e9', `${'a'.repeat(1021)}.b.c`]
  for (const code of cases) {
    const response = await service.app.inject(resetPage(code))
    assert.deepEqual([response.statusCode, response.headers.location], [200, undefined], code)
    assert.match(response.body, /role="alert"/)
  }
})

test('405: HEAD does not test a code', async (t) => {
  const { app } = await startApp(t)
  const response = await app.inject({ method: 'HEAD', url: `/reset-password/?code=${SHAPED}` })
  assert.deepEqual([response.statusCode, response.headers.allow], [405, 'GET, POST'])
})

test('422: a repeated code, or a code with a control character', async (t) => {
  const { app } = await startApp(t)
  invalid(await app.inject(`/reset-password/?code=${SHAPED}&code=${SHAPED}`), { loc: ['query', 'code'], type: 'value_error' })
  invalid(await app.inject('/reset-password/?code=%0d%0a'), { loc: ['query', 'code'], type: 'value_error' })
})

test('200: behind a proxy the form posts below the path of BASE_URL', async (t) => {
  const service = await startApp(t, { env: { BASE_URL: 'https://example.com/auth' } })
  const mia = await member(service)
  const response = await service.app.inject(resetPage(service.services.tokens.forMail('reset', mia.id, mia.resetVersion)))
  assert.match(response.body, /<form method="post" action="\/auth\/reset-password\/">/)
})
