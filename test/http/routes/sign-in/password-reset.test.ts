import assert from 'node:assert/strict'
import { getHeapStatistics } from 'node:v8'
import { statement } from '../../../../src/storage/database.ts'
import { member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import {
  forgotPassword,
  login,
  logout,
  newEmail,
  post,
  postForm,
  refresh,
  resetPage,
  resetPassword,
} from '../../../support/http/requests.ts'

const BAN = statement('update users set banned = true where id = $1')

const COUNT_OUTBOX = statement<{ count: number }>('select count(*) as count from outbox')

const NEW_PASSWORD = 'a brand new password'
const REQUESTED = { message: 'Password reset email sent if user exists' }

/** An account with the code of a reset mail. */
async function withResetCode(service: TestApp, options: { verified?: boolean } = {}) {
  const mia = await member(service, options)
  await service.app.inject(forgotPassword(mia.email))
  return { mia, code: await service.mailbox.codeFor(mia.email) }
}

test('200: a mailed code sets a new password, and the old one no longer works', async (t) => {
  const service = await startApp(t)
  const { mia, code } = await withResetCode(service)
  const response = await service.app.inject(resetPassword({ code, new_password: NEW_PASSWORD }))
  assert.deepEqual(
    { status: response.statusCode, body: response.json() },
    { status: 200, body: { message: 'Password successfully reset' } },
  )
  assert.equal((await service.app.inject(login({ email: mia.email, password: NEW_PASSWORD }))).statusCode, 200)
  refused(await service.app.inject(login({ email: mia.email, password: mia.password })), 400, 'Wrong email or password')
})

test('200: a reset ends every session of the account and no other', async (t) => {
  const service = await startApp(t)
  const { mia, code } = await withResetCode(service)
  const other = await member(service)
  await service.app.inject(resetPassword({ code }))
  refused(await service.app.inject(logout(mia.headers)), 401, 'That token is Invalid')
  refused(await service.app.inject(refresh(mia.refresh)), 401, 'That token is Invalid')
  assert.equal((await service.app.inject(refresh(other.refresh))).statusCode, 200)
})

test('200: a reset does not verify an account', async (t) => {
  const service = await startApp(t)
  const { mia, code } = await withResetCode(service, { verified: false })
  assert.equal((await service.app.inject(resetPassword({ code, new_password: NEW_PASSWORD }))).statusCode, 200)
  refused(
    await service.app.inject(login({ email: mia.email, password: NEW_PASSWORD })),
    401,
    'You need to verify your Email before logging in',
  )
})

test('200: the link in a mail starts with BASE_URL, whatever the Host headers of the request say', async (t) => {
  const service = await startApp(t, { env: { BASE_URL: 'https://id.example.com', TRUST_PROXY: 'true' } })
  const mia = await member(service)
  const claims = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', forwarded: 'host=evil.example' }
  const request = forgotPassword(mia.email)
  await service.app.inject({ ...request, headers: { ...request.headers, ...claims } })
  const [mail, ...others] = await service.mailbox.messages()
  assert.deepEqual(others, [])
  assert.match(mail?.link ?? '', /^https:\/\/id\.example\.com\/reset-password\/\?code=/)
  assert.doesNotMatch(JSON.stringify(mail), /evil/)
})

test('200: forgot-password has one response and writes one row for every address, and mails only accounts that are not banned', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const banned = await member(service)
  await service.db.run(BAN, banned.id)
  for (const email of [mia.email.toUpperCase(), banned.email, newEmail()]) {
    const response = await service.app.inject(forgotPassword(email))
    assert.deepEqual({ status: response.statusCode, body: response.json() }, { status: 200, body: REQUESTED })
  }
  assert.equal((await service.db.first(COUNT_OUTBOX))?.count, 3)
  assert.deepEqual(
    (await service.mailbox.messages()).map(({ to }) => to),
    [mia.email],
  )
  assert.equal((await service.db.first(COUNT_OUTBOX))?.count, 0)
})

test('401: a code works once, and its use invalidates all other codes', async (t) => {
  const service = await startApp(t)
  const { mia, code: older } = await withResetCode(service)
  service.clock.advance({ minutes: 1 })
  await service.app.inject(forgotPassword(mia.email))
  const newer = await service.mailbox.codeFor(mia.email)
  assert.notEqual(older, newer)
  assert.equal((await service.app.inject(resetPassword({ code: older }))).statusCode, 200)
  for (const code of [older, newer]) refused(await service.app.inject(resetPassword({ code })), 401, 'That token is Invalid')
})

test('401: a code expires after 30 minutes', async (t) => {
  const service = await startApp(t)
  const { code } = await withResetCode(service)
  service.clock.advance({ minutes: 30, seconds: -1 })
  assert.match((await service.app.inject(resetPage(code))).body, /<form method="post" action="\/reset-password\/">/)
  service.clock.advance({ seconds: 1 })
  refused(await service.app.inject(resetPassword({ code })), 401, 'That token has Expired')
})

test('401: a code does not work during a ban', async (t) => {
  const service = await startApp(t)
  const { mia, code } = await withResetCode(service)
  await service.db.run(BAN, mia.id)
  refused(await service.app.inject(resetPassword({ code })), 401, 'That token is Invalid')
})

test('401: a past ban, a password change and a new address invalidate a code; 404: a deletion does', async (t) => {
  const service = await startApp(t)
  const { users, userAdministration } = service.services
  const changes: ((id: number) => Promise<unknown>)[] = [
    (id) => userAdministration.ban(OPERATOR, id).then(() => userAdministration.unban(OPERATOR, id)),
    (id) => users.changePassword(OPERATOR, id, NEW_PASSWORD),
    (id) => users.edit(OPERATOR, id, { email: newEmail() }),
  ]
  for (const change of changes) {
    const { mia, code } = await withResetCode(service)
    await change(mia.id)
    refused(await service.app.inject(resetPassword({ code })), 401, 'That token is Invalid')
  }
  const { mia, code } = await withResetCode(service)
  await userAdministration.remove(OPERATOR, mia.id)
  refused(await service.app.inject(resetPassword({ code })), 404, 'User not Found')
})

test('422: an invalid new password does not use up the code', async (t) => {
  const service = await startApp(t)
  const { code } = await withResetCode(service)
  invalid(await service.app.inject(resetPassword({ code, new_password: 'short' })), {
    loc: ['body', 'new_password'],
    type: 'string_too_short',
  })
  invalid(await service.app.inject(post('/reset-password/', { code })), { loc: ['body', 'new_password'], type: 'missing' })
  invalid(
    await service.app.inject(post('/reset-password/', {})),
    { loc: ['body', 'code'], type: 'missing' },
    { loc: ['body', 'new_password'], type: 'missing' },
  )
  assert.equal((await service.app.inject(resetPassword({ code }))).statusCode, 200)
})

test('422: confirm_password of a form must match; 200: JSON ignores it', async (t) => {
  const service = await startApp(t)
  const { code } = await withResetCode(service)
  const differing = await service.app.inject(
    postForm('/reset-password/', { code, new_password: NEW_PASSWORD, confirm_password: 'another password' }),
  )
  assert.equal(differing.statusCode, 422)
  assert.match(differing.body, /The two passwords are not the same/)
  assert.match(differing.body, /<form method="post"/)
  assert.equal((await service.app.inject(resetPassword({ code, confirm_password: 5 }))).statusCode, 200)
})

test('200: a urlencoded or multipart form gets a page, with or without confirm_password', async (t) => {
  const service = await startApp(t)
  const { mia, code } = await withResetCode(service)
  const urlencoded = await service.app.inject(postForm('/reset-password/', { code, new_password: 'p+ss wörd & more' }))
  assert.equal(urlencoded.statusCode, 200)
  assert.match(urlencoded.headers['content-type'] ?? '', /^text\/html/)
  assert.match(urlencoded.body, /Password successfully reset/)
  assert.equal((await service.app.inject(login({ email: mia.email, password: 'p+ss wörd & more' }))).statusCode, 200)

  await service.app.inject(forgotPassword(mia.email))
  const form = new FormData()
  form.set('code', await service.mailbox.codeFor(mia.email))
  form.set('new_password', NEW_PASSWORD)
  form.set('confirm_password', NEW_PASSWORD)
  const encoded = new Response(form)
  const headers = { 'content-type': encoded.headers.get('content-type') ?? '' }
  const multipart = await service.app.inject({
    method: 'POST',
    url: '/reset-password/',
    headers,
    payload: Buffer.from(await encoded.arrayBuffer()),
  })
  assert.deepEqual([multipart.statusCode, multipart.body.includes('Password successfully reset')], [200, true])
  assert.equal((await service.app.inject(login({ email: mia.email, password: NEW_PASSWORD }))).statusCode, 200)
})

test('401, 404, 422: a form gets a page with the same status as JSON', async (t) => {
  const service = await startApp(t)
  const { mia, code } = await withResetCode(service)
  const used = service.services.tokens.forMail('reset', mia.id, 99)
  const gone = service.services.tokens.forMail('reset', 4711, 1)
  const cases: [Record<string, string>, number, string][] = [
    [{ code: used, new_password: NEW_PASSWORD }, 401, 'That token is Invalid'],
    [{ code: 'x', new_password: NEW_PASSWORD }, 401, 'That token is Invalid'],
    [{ code: gone, new_password: NEW_PASSWORD }, 404, 'The account of this link no longer exists'],
    [{ code, new_password: 'short' }, 422, 'The new password should have at least 8 characters'],
    [{ new_password: NEW_PASSWORD }, 422, 'Reset code is required'],
  ]
  for (const [fields, status, text] of cases) {
    const response = await service.app.inject(postForm('/reset-password/', fields))
    assert.equal(response.statusCode, status)
    assert.match(response.headers['content-type'] ?? '', /^text\/html/)
    assert.ok(response.body.includes(text), `${status} says ${text}`)
  }
  const german = postForm('/reset-password/', { code: used, new_password: NEW_PASSWORD })
  const shown = await service.app.inject({ ...german, headers: { ...german.headers, 'accept-language': 'de' } })
  assert.ok(shown.body.includes('That token is Invalid'), 'in every language')
})

test('422: a form of 65,535 separators allocates little memory', async (t) => {
  const { app } = await startApp(t)
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const allocatedBefore = getHeapStatistics().total_allocated_bytes
  const response = await app.inject({ method: 'POST', url: '/reset-password/', payload: '&'.repeat(65_535), headers })
  assert.equal(response.statusCode, 422)
  // A parser that copies all earlier fields for each new one allocates 17 GB.
  assert.ok(getHeapStatistics().total_allocated_bytes - allocatedBefore < 500_000_000)
})

test('422: a form with a repeated field, invalid UTF-8 or a file, and a malformed form, are refused', async (t) => {
  const service = await startApp(t)
  const { mia, code } = await withResetCode(service)
  const urlencoded = [
    `code=${code}&new_password=${'a'.repeat(9)}&new_password=${'b'.repeat(9)}`,
    `code=${code}&new_password=%ff%ff%ff%ff%ff%ff%ff%ff`,
    `code=${code}&new_password=%`,
  ]
  for (const payload of urlencoded) {
    const response = await service.app.inject({
      method: 'POST',
      url: '/reset-password/',
      payload,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    assert.equal(response.statusCode, 422, payload)
  }
  const part = (head: string, body: string) => `--x\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`
  const multipart = [
    `${part('name="code"', code)}${part('name="new_password"; filename="p.txt"', 'a long password')}--x--\r\n`,
    'no boundary at all',
    part('name="code"', code),
  ]
  for (const payload of multipart) {
    const response = await service.app.inject({
      method: 'POST',
      url: '/reset-password/',
      payload,
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    })
    assert.equal(response.statusCode, 422, payload)
  }
  assert.equal((await service.app.inject(login({ email: mia.email, password: mia.password }))).statusCode, 200)
})
