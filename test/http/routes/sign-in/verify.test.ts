import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { findUserById } from '../../../../src/storage/repositories/users/user.repository.ts'
import { member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { login, newEmail, post, register, resendVerification, verify } from '../../../support/http/requests.ts'

const BAN = statement('update users set banned = true where id = $1')
const DELETE = statement('delete from users where id = $1')

const COUNT_OUTBOX = statement<{ count: number }>('select count(*) as count from outbox')
const RESENT = { message: 'Verification email sent if user exists and is not verified' }

test('200: the mailed code verifies the account, and the user can log in', async (t) => {
  const { app, mailbox } = await startApp(t)
  const email = newEmail()
  await app.inject(register({ email }))
  const response = await app.inject(verify(await mailbox.codeFor(email)))
  assert.deepEqual({ status: response.statusCode, body: response.json() }, { status: 200, body: { detail: 'User successfully Verified' } })
  assert.equal((await app.inject(login({ email }))).statusCode, 200)
})

test('401: a code works once', async (t) => {
  const { app, mailbox } = await startApp(t)
  const email = newEmail()
  await app.inject(register({ email }))
  const code = await mailbox.codeFor(email)
  assert.equal((await app.inject(verify(code))).statusCode, 200)
  refused(await app.inject(verify(code)), 401, 'That token is Invalid')
})

test('401: a code expires after 24 hours', async (t) => {
  const { app, mailbox, clock } = await startApp(t)
  const email = newEmail()
  await app.inject(register({ email }))
  const code = await mailbox.codeFor(email)
  clock.advance({ hours: 24 })
  refused(await app.inject(verify(code)), 401, 'That token has Expired')
  refused(await app.inject(login({ email })), 401, 'You need to verify your Email before logging in')
})

test('401: a code does not verify an account whose address has changed', async (t) => {
  const service = await startApp(t)
  const mia = await member(service, { verified: false })
  const code = service.services.tokens.forMail('verify', mia.id, mia.emailVersion)
  await service.services.users.edit(OPERATOR, mia.id, { email: newEmail() })
  refused(await service.app.inject(verify(code)), 401, 'That token is Invalid')
  assert.equal((await findUserById(service.db, mia.id))?.verified, false)
})

test('401: a code does not verify a banned user', async (t) => {
  const service = await startApp(t)
  const mia = await member(service, { verified: false })
  await service.db.run(BAN, mia.id)
  refused(
    await service.app.inject(verify(service.services.tokens.forMail('verify', mia.id, mia.emailVersion))),
    401,
    'That token is Invalid',
  )
  assert.equal((await findUserById(service.db, mia.id))?.verified, false)
})

test('404: a valid code of a deleted user; 401: an expired one', async (t) => {
  const service = await startApp(t)
  const mia = await member(service, { verified: false })
  const code = service.services.tokens.forMail('verify', mia.id, mia.emailVersion)
  await service.db.run(DELETE, mia.id)
  refused(await service.app.inject(verify(code)), 404, 'User not Found')
  service.clock.advance({ days: 2 })
  refused(await service.app.inject(verify(code)), 401, 'That token has Expired')
})

test('422: a missing, repeated or malformed code; 401: an empty code', async (t) => {
  const { app } = await startApp(t)
  invalid(await app.inject('/verify/'), { loc: ['query', 'code'], type: 'missing' })
  invalid(await app.inject('/verify/?code=a.b.c&code=a.b.c'), { loc: ['query', 'code'], type: 'value_error' })
  invalid(await app.inject('/verify/?code=a%00b'), { loc: ['query', 'code'], type: 'value_error' })
  refused(await app.inject('/verify/?code='), 401, 'That token is Invalid')
})

test('405: HEAD does not use or check a code', async (t) => {
  const { app, mailbox } = await startApp(t)
  const email = newEmail()
  await app.inject(register({ email }))
  const code = await mailbox.codeFor(email)
  const response = await app.inject({ method: 'HEAD', url: `/verify/?code=${code}` })
  assert.deepEqual([response.statusCode, response.headers.allow], [405, 'GET'])
  assert.equal((await app.inject(verify(code))).statusCode, 200)
})

test('200, 401: a browser gets a page with the same status, without the code', async (t) => {
  const { app, mailbox } = await startApp(t, { env: { API_TITLE: 'Acme & <Sons>' } })
  const email = newEmail()
  await app.inject(register({ email }))
  const code = await mailbox.codeFor(email)
  const request = { ...verify(code), headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } }
  const done = await app.inject(request)
  assert.equal(done.statusCode, 200)
  assert.match(done.headers['content-type'] ?? '', /^text\/html/)
  assert.match(done.body, /<h1>Your address is verified<\/h1>/)
  assert.match(done.body, /Acme &amp; &lt;Sons&gt;/)
  const again = await app.inject(request)
  assert.equal(again.statusCode, 401)
  assert.match(again.body, /<h1>Your address is already verified<\/h1>/)
  assert.doesNotMatch(again.body, /not verified|Invalid/)
  for (const { body } of [done, again]) assert.ok(!body.includes(code))
})

test('401, 404, 422: the page for a link that does not work says why, and what to do next', async (t) => {
  const service = await startApp(t, { env: { FRONTEND_URL: 'https://app.example.com' } })
  const mia = await member(service, { verified: false })
  const { tokens } = service.services
  const open = (code: string) => service.app.inject({ ...verify(code), headers: { accept: 'text/html' } })
  const expired = tokens.forMail('verify', mia.id, mia.emailVersion)
  service.clock.advance({ minutes: 24 * 60 + 1 })
  for (const [code, status, title, message] of [
    [expired, 401, 'This link has expired', 'This link has expired.'],
    ['a.b.c', 401, 'This link does not work', 'This link was used before, was replaced by a newer one, or is not complete.'],
    ['\n', 422, 'This link does not work', 'This link was used before, was replaced by a newer one, or is not complete.'],
    [tokens.forMail('verify', 4711, 1), 404, 'This account no longer exists', 'The account of this link no longer exists.'],
  ] as const) {
    const { statusCode, body } = await open(code)
    assert.equal(statusCode, status, title)
    assert.ok(body.includes(`<h1>${title}</h1>`) && body.includes(`role="alert">${message}<`), body)
    assert.ok(body.includes('href="https://app.example.com">Continue to Latchkey</a>'))
  }
})

test('200: a verification mail can be sent again, with the same response for every address', async (t) => {
  const service = await startApp(t)
  const lost = newEmail()
  await service.app.inject(register({ email: lost }))
  await service.mailbox.messages()
  const verified = await member(service)
  const banned = await member(service, { verified: false })
  await service.db.run(BAN, banned.id)
  for (const email of [lost.toUpperCase(), verified.email, banned.email, newEmail()]) {
    const response = await service.app.inject(resendVerification(email))
    assert.deepEqual({ status: response.statusCode, body: response.json() }, { status: 200, body: RESENT })
  }
  assert.equal((await service.db.first(COUNT_OUTBOX))?.count, 4)
  assert.equal(await service.mailbox.countFor(lost), 2)
  assert.equal((await service.mailbox.messages()).length, 2)
  assert.equal((await service.db.first(COUNT_OUTBOX))?.count, 0)
  assert.equal((await service.app.inject(verify(await service.mailbox.codeFor(lost)))).statusCode, 200)
})

test('422: sending a verification mail again requires a valid address', async (t) => {
  const { app } = await startApp(t)
  invalid(await app.inject(post('/verify/resend/', {})), { loc: ['body', 'email'], type: 'missing' })
  invalid(await app.inject(resendVerification('mia')), { loc: ['body', 'email'], type: 'value_error' })
})
