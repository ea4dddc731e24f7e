import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { openSignIn } from '../../../../src/storage/repositories/sign-in/email-sign-in.repository.ts'
import { recordSignIn } from '../../../../src/storage/repositories/users/user.repository.ts'
import { type Actor, admin, member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { storedEvents } from '../../../support/app/audit.ts'
import { turnOnCodes } from '../../../support/app/codes.ts'
import { type StartOptions, secondApp, startApp, type TestApp } from '../../../support/app/start-app.ts'
import { type ContractContext, test } from '../../../support/databases/databases.ts'
import { ORIGIN } from '../../../support/http/origins.ts'
import { sessionCookie, submit, textOf, visit } from '../../../support/http/pages.ts'
import { newEmail } from '../../../support/http/requests.ts'

const PAGE = '/account/email-sign-in'
const MESSAGE = { message: 'Sign-in email sent if user exists' }
const SIGN_INS = statement<{ recipient: string; tries_left: number }>('select recipient, tries_left from email_sign_ins order by recipient')
const WHOLE_ROWS = statement<{ version: number }>('select * from email_sign_ins')
const OUTBOX = statement<{ count: number }>('select count(*) as count from outbox')

const start = (t: ContractContext, options: StartOptions = {}) =>
  startApp(t, { ...options, env: { EMAIL_SIGN_IN: 'true', ...options.env } })

const request = ({ app }: Pick<TestApp, 'app'>, email: string) => app.inject({ method: 'POST', url: '/login/email', payload: { email } })
const confirm = ({ app }: Pick<TestApp, 'app'>, payload: object) => app.inject({ method: 'POST', url: '/login/email/confirm', payload })

/** Requests a sign-in mail, and returns what it contains. */
async function mailed(service: TestApp, { email }: Pick<Actor, 'email'>): Promise<{ token: string; code: string; link: string }> {
  assert.deepEqual((await request(service, email)).json(), MESSAGE)
  const mail = (await service.mailbox.messages()).findLast(({ to }) => to === email) ?? assert.fail('no mail')
  assert.equal(mail.subject, 'Your sign-in code for Latchkey')
  const code = /^- (\d{8})$/m.exec(mail.text)?.[1] ?? assert.fail(mail.text)
  assert.ok(mail.html.includes(code) && !mail.subject.includes(code))
  return { token: mail.code, code, link: mail.link }
}

/** A code that is not the right one. */
const otherThan = (code: string) => String((Number(code) + 1) % 100_000_000).padStart(8, '0')

test('404: both routes and the page without EMAIL_SIGN_IN', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  refused(await request(service, mia.email), 404, 'Not Found')
  refused(await confirm(service, { email: mia.email, code: '12345678' }), 404, 'Not Found')
  assert.equal((await service.app.inject(visit(PAGE))).statusCode, 404)
  assert.equal(await service.mailbox.countFor(mia.email), 0)
})

test('200: the link and the code of a mail open a session of the method `email`, one of them once', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  for (const use of ['token', 'code'] as const) {
    const { token, code } = await mailed(service, mia)
    const proofs = { token: { token }, code: { email: mia.email.toUpperCase(), code: `${code.slice(0, 4)} ${code.slice(4)}` } }
    const response = await confirm(service, proofs[use])
    assert.equal(response.statusCode, 200, response.body)
    const headers = { authorization: `Bearer ${response.json().token}` }
    const session = (await service.app.inject({ url: '/users/me/sessions', headers }))
      .json()
      .find(({ current }: { current: true }) => current)
    assert.deepEqual([session.method, session.second_factor], ['email', false])
    refused(await confirm(service, { token }), 401, 'Invalid code')
    refused(await confirm(service, { email: mia.email, code }), 401, 'Invalid code')
  }
})

test('401: of fifty uses of one link and its code at once, in two processes, one succeeds', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const other = { app: await secondApp(t, service) }
  const { token, code } = await mailed(service, mia)
  const uses = Array.from({ length: 50 }, (_, n) =>
    // The code is limited, so that most use the link.
    confirm(n % 2 === 0 ? service : other, n % 10 === 9 ? { email: mia.email, code } : { token }),
  )
  const statuses = (await Promise.all(uses)).map(({ statusCode }) => statusCode).sort()
  assert.deepEqual(statuses, [200, ...Array.from({ length: 49 }, () => 401)])
  const opened = (await storedEvents(service.db)).filter(({ kind, target }) => kind === 'session.created' && target === mia.id)
  assert.equal(opened.length, 1)
})

test('401: five wrong codes end the link and the code, and a new mail begins again', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const { token, code } = await mailed(service, mia)
  for (let n = 0; n < 5; n++) refused(await confirm(service, { email: mia.email, code: otherThan(code) }), 401, 'Invalid code')
  refused(await confirm(service, { email: mia.email, code }), 401, 'Invalid code')
  refused(await confirm(service, { token }), 401, 'Invalid code')
  const next = await mailed(service, mia)
  for (let n = 0; n < 3; n++) refused(await confirm(service, { email: mia.email, code: otherThan(next.code) }), 401, 'Invalid code')
  assert.equal((await confirm(service, { email: mia.email, code: next.code })).statusCode, 200)
})

test('401: the fifth code may be the right one, and a sixth may not, also at once', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const { code } = await mailed(service, mia)
  const wrong = () => confirm(service, { email: mia.email, code: otherThan(code) })
  await Promise.all([wrong(), wrong(), wrong(), wrong()])
  assert.equal((await confirm(service, { email: mia.email, code })).statusCode, 200)
})

test('429: ten wrong codes for an address in ten minutes, with or without an account, and the link still works', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const { code } = await mailed(service, mia)
  for (const email of [mia.email, newEmail()]) {
    for (let n = 0; n < 10; n++) refused(await confirm(service, { email, code: otherThan(code) }), 401, 'Invalid code')
    const limited = await confirm(service, { email, code })
    refused(limited, 429, 'Too many requests')
    assert.ok(Number(limited.headers['retry-after']) > 0)
  }
  const { token } = await mailed(service, mia)
  assert.equal((await confirm(service, { token })).statusCode, 200)
})

test('401: a mail works for 15 minutes, and a newer one replaces it', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const first = await mailed(service, mia)
  service.clock.advance({ seconds: 1 })
  const second = await mailed(service, mia)
  assert.notEqual(first.code, second.code)
  refused(await confirm(service, { token: first.token }), 401, 'Invalid code')
  service.clock.advance({ minutes: 15 })
  refused(await confirm(service, { token: second.token }), 401, 'Invalid code')
  refused(await confirm(service, { email: mia.email, code: second.code }), 401, 'Invalid code')
  const third = await mailed(service, mia)
  service.clock.advance({ minutes: 14 })
  assert.equal((await confirm(service, { email: mia.email, code: third.code })).statusCode, 200)
})

test('401: a ban, a new password and another address end a mail', async (t) => {
  const service = await start(t)
  const { app } = service
  const boss = await admin(service)
  const changes = [
    ({ id }: Actor) => app.inject({ method: 'POST', url: `/users/${id}/ban`, headers: boss.headers }),
    ({ id }: Actor) =>
      app.inject({ method: 'POST', url: `/users/${id}/password`, headers: boss.headers, payload: { password: 'another password' } }),
    ({ id }: Actor) => app.inject({ method: 'PUT', url: `/users/${id}`, headers: boss.headers, payload: { email: newEmail() } }),
  ]
  for (const change of changes) {
    const mia = await member(service)
    const { token, code } = await mailed(service, mia)
    assert.ok((await change(mia)).statusCode < 300)
    refused(await confirm(service, { token }), 401, 'Invalid code')
    refused(await confirm(service, { email: mia.email, code }), 401, 'Invalid code')
  }
})

test('401: an account with codes from an app gets a challenge, and the second step completes the login', async (t) => {
  const service = await start(t)
  const { app, clock } = service
  const mia = await member(service)
  const { code } = await turnOnCodes(service, mia)
  const { token } = await mailed(service, mia)
  const first = await confirm(service, { token })
  assert.deepEqual([first.statusCode, first.headers['x-error-code']], [401, 'second_factor_required'])
  assert.deepEqual(first.json().methods, ['totp', 'recovery_code'])
  refused(await confirm(service, { token }), 401, 'Invalid code')
  const payload = { challenge: first.json().challenge, code: code() }
  const second = await app.inject({ method: 'POST', url: '/login/second-factor', payload })
  assert.equal(second.statusCode, 200, second.body)
  const headers = { authorization: `Bearer ${second.json().token}` }
  const [session] = (await app.inject({ url: '/users/me/sessions', headers })).json()
  assert.deepEqual([session.method, session.second_factor], ['email', true])
  clock.advance({ minutes: 1 })
  const page = await app.inject(submit(PAGE, { code: (await mailed(service, mia)).token }))
  assert.deepEqual([page.statusCode, page.headers['set-cookie']], [200, undefined])
  const challenge = /name="challenge" value="([^"]+)"/.exec(page.body)?.[1] ?? assert.fail(page.body)
  const done = await app.inject(submit('/account/sign-in/second-step', { challenge, code: code() }))
  assert.deepEqual([done.statusCode, done.headers.location], [303, '/account/'])
  assert.equal((await app.inject(visit('/account/', sessionCookie(done)))).statusCode, 200)
})

test('a login by mail that is running while codes are turned on opens no session', async (t) => {
  const service = await start(t)
  const { db, clock } = service
  const mia = await member(service)
  const enter = (hasFactor: boolean) => db.transaction((tx) => recordSignIn(tx, mia.id, mia.resetVersion, clock.now(), hasFactor))
  assert.equal(await enter(false), true)
  await turnOnCodes(service, mia)
  assert.equal(await enter(false), false)
  assert.equal(await enter(true), true)
})

test('200: every address gets the same answer for the same work; an unverified account gets its verification mail, a banned one nothing', async (t) => {
  const service = await start(t)
  const [mia, una, ben] = [await member(service), await member(service, { verified: false }), await member(service)]
  await service.services.userAdministration.ban({ caller: 'operator', origin: ORIGIN }, ben.id)
  const unknown = newEmail()
  for (const [n, email] of [mia.email, una.email, ben.email, unknown].entries()) {
    const response = await request(service, email)
    assert.deepEqual([response.statusCode, response.json()], [200, MESSAGE])
    assert.equal((await service.db.first(OUTBOX))?.count, n + 1)
  }
  const mails = await service.mailbox.messages()
  assert.deepEqual(
    mails.map(({ to, subject }) => [to, subject]).sort(),
    [
      [mia.email, 'Your sign-in code for Latchkey'],
      [una.email, 'Verify your email address for Latchkey'],
    ].sort(),
  )
  assert.equal((await service.db.first(OUTBOX))?.count, 0)
  const verification = mails.find(({ to }) => to === una.email)?.code ?? ''
  assert.equal((await service.app.inject({ url: '/verify/', query: { code: verification } })).statusCode, 200)
})

test('401: a wrong code gets the same answer and writes one row for every address', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const { code } = await mailed(service, mia)
  const unknown = newEmail()
  const answers = []
  for (const email of [mia.email, unknown]) {
    const { statusCode, body, headers } = await confirm(service, { email, code: otherThan(code) })
    answers.push({ statusCode, body, names: Object.keys(headers).sort() })
  }
  assert.deepEqual(answers[0], answers[1])
  assert.deepEqual(
    await service.db.all(SIGN_INS),
    [
      { recipient: mia.email, tries_left: 4 },
      { recipient: unknown, tries_left: 0 },
    ].sort((one, other) => (one.recipient < other.recipient ? -1 : 1)),
  )
  refused(await confirm(service, { email: unknown, code }), 401, 'Invalid code')
  assert.equal((await confirm(service, { email: mia.email, code })).statusCode, 200)
})

test('422: exactly one of the token, and the address with the code', async (t) => {
  const service = await start(t)
  for (const payload of [{}, { email: 'mia@example.com' }, { code: '12345678' }, { token: 'a.b.c', code: '12345678' }, { token: 7 }])
    assert.equal((await confirm(service, payload)).statusCode, 422, JSON.stringify(payload))
  assert.equal((await request(service, 'nobody')).statusCode, 422)
})

test('a scanner that opens the link with GET and HEAD signs nobody in; the button does', async (t) => {
  const service = await start(t)
  const { app, db } = service
  const mia = await member(service)
  const { link } = await mailed(service, mia)
  const { pathname, search, searchParams } = new URL(link)
  const before = await storedEvents(db)
  for (let n = 0; n < 3; n++) {
    const opened = await app.inject(visit(pathname + search))
    assert.equal(opened.statusCode, 200)
    assert.equal(opened.headers['set-cookie'], undefined)
    assert.equal(opened.headers['referrer-policy'], 'strict-origin')
    assert.match(opened.body, /<button class="primary">Sign in<\/button>/)
    assert.equal((await app.inject({ ...visit(pathname + search), method: 'HEAD' })).headers['set-cookie'], undefined)
  }
  assert.deepEqual(await storedEvents(db), before)
  assert.equal((await db.first(SIGN_INS))?.tries_left, 5)
  const code = searchParams.get('code') ?? ''
  const crossSite = {
    ...submit(PAGE, { code }),
    headers: { 'sec-fetch-site': 'cross-site', 'content-type': 'application/x-www-form-urlencoded' },
  }
  assert.equal((await app.inject(crossSite)).statusCode, 403)
  const signedIn = await app.inject(submit(PAGE, { code }))
  assert.deepEqual([signedIn.statusCode, signedIn.headers.location], [303, '/account/'])
  assert.equal((await app.inject(visit('/account/', sessionCookie(signedIn)))).statusCode, 200)
  const again = await app.inject(submit(PAGE, { code }))
  assert.equal(again.statusCode, 401)
  assert.match(textOf(again), /This link was used before/)
  assert.match(again.body, /href="\/account\/sign-in\/email">Send another email</, 'and leads to a new mail')
})

test('a mail survives a restart, and neither the outbox nor the table contains its code', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const { token, code } = await mailed(service, mia)
  const rows = JSON.stringify(await service.db.all(WHOLE_ROWS))
  assert.ok(!rows.includes(code) && !rows.includes(token))
  const { signature } = /(?<signature>[^.]+)$/.exec(token)?.groups ?? {}
  for (const line of service.logged) assert.ok(!line.includes(code) && !line.includes(signature ?? '-'), line)
  const restarted = { app: await secondApp(t, service) }
  assert.equal((await confirm(restarted, { email: mia.email, code })).statusCode, 200)
})

test('429: RATE_LIMITS count requests as mails, and wrong links as logins', async (t) => {
  const service = await start(t, { env: { RATE_LIMITS: 'mail:account=2/h,login:ip=3/h' } })
  for (const email of [(await member(service)).email, newEmail()]) {
    for (let n = 0; n < 2; n++) assert.equal((await request(service, email)).statusCode, 200)
    refused(await request(service, email), 429, 'Too many requests')
  }
  const token = service.services.tokens.forMail('sign_in', 4711, 1)
  for (let n = 0; n < 3; n++) refused(await confirm(service, { token }), 401, 'Invalid code')
  refused(await confirm(service, { token }), 429, 'Too many requests')
})

test('a wrong code leaves the event of a failed login, for an existing account', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const { code } = await mailed(service, mia)
  await confirm(service, { email: mia.email, code: otherThan(code) })
  await confirm(service, { email: newEmail(), code: otherThan(code) })
  service.clock.advance({ minutes: 11 })
  await service.app.close()
  const failed = (await storedEvents(service.db)).filter(({ kind }) => kind === 'login.failed')
  assert.deepEqual(
    failed.map(({ target }) => target),
    [mia.id],
  )
})

test('another attempt to send the same mail has the same code, and does not open it again once it was used', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const first = await mailed(service, mia)
  assert.equal((await confirm(service, { email: mia.email, code: first.code })).statusCode, 200)
  // As if the server had accepted the mail, and the connection had been lost before it said so.
  const { id, resetVersion } = mia
  const [row] = await service.db.all(WHOLE_ROWS)
  const version = Number(row?.version)
  assert.equal(service.services.tokens.codeOf(id, version), first.code)
  await openSignIn(service.db, mia.email, version, resetVersion, service.clock.now() + 60_000)
  refused(await confirm(service, { email: mia.email, code: first.code }), 401, 'Invalid code')
})

test('without the account pages, the mail has its code only', async (t) => {
  const service = await start(t, { env: { ACCOUNT_PAGES_ENABLED: 'false' } })
  const mia = await member(service)
  await request(service, mia.email)
  const [mail] = await service.mailbox.messages()
  assert.doesNotMatch(mail?.text ?? '', /http/)
  const code = /^- (\d{8})$/m.exec(mail?.text ?? '')?.[1]
  assert.equal((await confirm(service, { email: mia.email, code })).statusCode, 200)
})
