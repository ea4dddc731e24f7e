import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { admin, member } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { credentials, SAME_ORIGIN, sessionCookie, signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { login, resetPassword } from '../../../support/http/requests.ts'

const COUNT_SESSIONS = statement<{ count: number }>('select count(*) as count from sessions where user_id = $1 and expires_at > $2')

test('200: both sign-in pages have the fields Email and Password and the button Sign in', async (t) => {
  const { app } = await startApp(t)
  for (const area of ['console', 'account']) {
    const { statusCode, body, headers } = await app.inject(visit(`/${area}/sign-in`))
    assert.equal(statusCode, 200)
    assert.match(body, /<label for="email">Email<\/label>/)
    assert.match(body, /<label for="password">Password<\/label>/)
    assert.match(body, /<button[^>]*>Sign in<\/button>/)
    assert.equal(headers['cache-control'], 'no-store')
  }
})

test('303: signing in opens a session of 12 hours, whose cookie scripts and other sites cannot use', async (t) => {
  const service = await startApp(t)
  const { app, clock, db } = service
  const boss = await admin(service)
  const response = await app.inject(submit('/console/sign-in', credentials(boss)))
  assert.deepEqual([response.statusCode, response.headers.location, response.body], [303, '/console/', ''])
  assert.match(String(response.headers['set-cookie']), /^latchkey-console=[\w.-]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/)
  const cookie = sessionCookie(response)
  assert.equal((await app.inject(visit('/console/users', cookie))).statusCode, 200)
  clock.advance({ hours: 11, minutes: 59 })
  assert.equal((await app.inject(visit('/console/users', cookie))).statusCode, 200)
  clock.advance({ minutes: 2 })
  assert.equal((await app.inject(visit('/console/users', cookie))).statusCode, 303)
  // The session of the API is still there; that of the pages has ended in the database too.
  assert.equal((await db.first(COUNT_SESSIONS, boss.id, clock.now()))?.count, 1)
})

test('303: with an https BASE_URL the cookie is Secure and bound to its host', async (t) => {
  const service = await startApp(t, { env: { BASE_URL: 'https://accounts.example.com' } })
  const response = await service.app.inject(submit('/account/sign-in', credentials(await member(service))))
  assert.match(String(response.headers['set-cookie']), /^__Host-latchkey=[\w.-]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
  const plain = sessionCookie(response).replace('__Host-', '')
  assert.equal((await service.app.inject(visit('/account/', sessionCookie(response)))).statusCode, 200)
  assert.equal((await service.app.inject(visit('/account/', plain))).statusCode, 303)
})

test('303: below the path of BASE_URL, redirects and links stay below it', async (t) => {
  const service = await startApp(t, { env: { BASE_URL: 'http://example.com/accounts' } })
  const boss = await admin(service)
  const response = await service.app.inject(submit('/console/sign-in', { ...credentials(boss), next: '/console/users?q=mia' }))
  assert.equal(response.headers.location, '/accounts/console/users?q=mia')
  const { body } = await service.app.inject(visit('/console/users', sessionCookie(response)))
  const links = [...body.matchAll(/(?:href|action|src)="([^"#]*)/g)].map(([, link]) => link)
  assert.ok(links.length > 10)
  assert.deepEqual(
    links.filter((link) => link !== '' && !link?.startsWith('/accounts/')),
    [],
  )
})

test('400, 401: a refused sign-in shows the form again with a message, and no cookie', async (t) => {
  const service = await startApp(t)
  const { app, services } = service
  const mia = await member(service)
  const banned = await member(service)
  await services.userAdministration.ban(OPERATOR, banned.id)
  const unverified = await member(service, { verified: false })
  const cases = [
    [{ email: mia.email, password: 'wrong password' }, 400, 'Wrong email or password'],
    [{ email: 'nobody@example.com', password: 'wrong password' }, 400, 'Wrong email or password'],
    [{ email: banned.email, password: banned.password }, 401, 'This account is banned'],
    [{ email: unverified.email, password: unverified.password }, 401, 'Verify your email address before you sign in'],
    [{ email: 'not an address', password: 'wrong password' }, 422, 'Enter a valid email address'],
  ] as const
  for (const [fields, status, message] of cases) {
    const response = await app.inject(submit('/account/sign-in', fields))
    assert.equal(response.statusCode, status)
    assert.ok(textOf(response).includes(message), textOf(response))
    assert.equal(response.headers['set-cookie'], undefined)
    assert.ok(response.body.includes(`value="${fields.email}"`), 'the address is kept')
    assert.ok(!response.body.includes(fields.password), 'the password is not')
    const [, focused] = /<input id="(\w+)"[^>]* autofocus>/.exec(response.body) ?? []
    assert.equal(focused, status === 422 ? 'email' : 'password', 'the focus is where the correction is')
  }
})

test('429: sign-in is limited by account and by address, apart from POST /login/', async (t) => {
  const service = await startApp(t)
  const { app, clock } = service
  const mia = await member(service)
  const attempt = (email: string) => app.inject(submit('/account/sign-in', { email, password: 'wrong password' }))
  for (let n = 0; n < 10; n++) assert.equal((await attempt(mia.email)).statusCode, 400)
  const refused = await attempt(mia.email)
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '6'])
  assert.match(textOf(refused), /Too many attempts\. Try again in 6 seconds\./)
  assert.equal((await app.inject(submit('/console/sign-in', credentials(mia)))).statusCode, 429, 'both sign-in pages count together')
  assert.equal((await app.inject(login({ email: mia.email }))).statusCode, 200)
  clock.advance({ seconds: 7 })
  assert.equal((await app.inject(submit('/account/sign-in', credentials(mia)))).statusCode, 303)
  for (let n = 0; n < 40; n++) await attempt(`somebody-${n}@example.com`)
  assert.equal((await attempt('somebody-else@example.com')).statusCode, 429)
})

test('429: guesses on the sign-in pages count for RATE_LIMITS too, together with those of POST /login/', async (t) => {
  const service = await startApp(t, { env: { RATE_LIMITS: 'login:account=4/h' } })
  const { app, clock } = service
  const mia = await member(service)
  const guess = async () => (await app.inject(submit('/account/sign-in', { email: mia.email, password: 'wrong password' }))).statusCode
  const guessByApi = async () => (await app.inject(login({ email: mia.email, password: 'wrong password' }))).statusCode
  assert.deepEqual([await guess(), await guessByApi(), await guess(), await guess(), await guess()], [400, 400, 400, 400, 429])
  assert.equal(await guessByApi(), 429)
  clock.advance({ minutes: 15 })
  // The right password does not count.
  for (let n = 0; n < 3; n++) assert.equal((await app.inject(submit('/account/sign-in', credentials(mia)))).statusCode, 303)
})

test('303: after signing in one lands on the requested page, on this site only', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const wanted = await service.app.inject(visit('/console/users?q=mia&sort=email'))
  assert.deepEqual([wanted.statusCode, wanted.headers.location], [303, '/console/sign-in?next=%2Fconsole%2Fusers%3Fq%3Dmia%26sort%3Demail'])
  const form = await service.app.inject(visit(String(wanted.headers.location)))
  assert.match(form.body, /name="next" value="\/console\/users\?q=mia&amp;sort=email"/)
  const keptMail = '/console/mail/kept/2026-01-01T00-00-00.000Z-000001-mia_muster%2Btest%40mail.example.com-00000000.eml'
  const good = [
    '/console/',
    '/console/users',
    '/account/',
    '/console/users/7?x=%20y',
    '/console/users?q=a%26b',
    "/console/users?q=(o'neil)*,!;@x.y:z",
    keptMail,
    keptMail.replace('%40', '@'),
    `${keptMail}/frame`,
  ]
  const bad = [
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example/',
    '\\\\evil.example',
    '/console//evil.example',
    '/console/..//evil.example',
    '/console/../../evil',
    '/consoleevil',
    '/console@evil.example',
    '/console:80@evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    '/console/\r\nset-cookie: x=y',
    '/console/\t/evil.example',
    '/console/\u0000',
    '/console/%5c%5cevil.example/..',
    '/%2f%2fevil.example',
    '%2f%2fevil.example',
    '///evil.example',
    '/console/%2e%2e//evil.example',
    '/console/%09/evil.example',
    '/console/;@evil.example',
    '/console/@evil.example',
    '/console/.',
    '/console/..',
    '/console/./users',
    '/console/users/../../evil',
    '/console/...',
    '/console/a..b/evil',
    '/console/.evil',
    '/console/evil.',
    '/console/evil@',
    '/console/%40evil.example',
    '/console/a%2e%2e/evil',
    '/console/a@.evil',
    '/console.evil.example',
    '/account.evil.example/',
    '/console/(evil)',
    '/console/evil!',
    '/console?q=<evil>',
    '/console?q=evil"',
    '/console?q=`evil`',
    '/console?q=evil|x',
    '/console?q=evil#x',
    '/console?next=https://evil.example\\',
    'HTTPS:evil.example',
    'https:/evil.example',
    'vbscript:evil',
    'blob:https://evil.example/x',
    '/console\u2028/evil',
    '／／evil.example',
    '/account/..\\evil',
    '/console?x="><script>',
    '/users/me',
    '/verify/?code=x',
    '/console/sign-out',
    '/console/sign-in',
    `/console/${'a'.repeat(1500)}`,
    '',
    ' /console/users',
    '/console/users#x',
  ]
  for (const next of [...good, ...bad]) {
    const response = await service.app.inject(submit('/console/sign-in', { ...credentials(boss), next }))
    // A control character is not accepted in any field.
    if (response.statusCode === 422) continue
    assert.deepEqual(
      [response.statusCode, response.headers.location],
      [303, good.includes(next) ? next : '/console/'],
      JSON.stringify(next),
    )
    const page = await service.app.inject({ ...visit('/console/sign-in'), query: { next } })
    if (!good.includes(next)) assert.ok(!page.body.includes('evil') && !page.body.includes('<script>"'), JSON.stringify(next))
  }
})

test('303: signing out ends the session, also for a user who is not an admin; without a session it is 401', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const mia = await member(service)
  for (const area of ['console', 'account']) {
    const cookie = await signIn(app, mia)
    const left = await app.inject(submit(`/${area}/sign-out`, {}, cookie))
    assert.deepEqual([left.statusCode, left.headers.location], [303, `/${area}/sign-in`])
    assert.match(String(left.headers['set-cookie']), area === 'console' ? /^latchkey-console=; Max-Age=0; / : /^latchkey=; Max-Age=0; /)
    assert.equal((await app.inject(visit('/account/', cookie))).statusCode, 303)
    assert.equal((await app.inject(submit(`/${area}/sign-out`, {}, cookie))).statusCode, 401)
    assert.equal((await app.inject(submit(`/${area}/sign-out`))).statusCode, 401)
  }
})

test('200: without an admin, the console says how to create one; a notice is shown once', async (t) => {
  const service = await startApp(t)
  const { app } = service
  assert.match(textOf(await app.inject(visit('/console/sign-in'))), /There is no admin yet.*user create --admin/)
  assert.doesNotMatch(textOf(await app.inject(visit('/account/sign-in'))), /no admin/)
  await admin(service)
  assert.doesNotMatch(textOf(await app.inject(visit('/console/sign-in'))), /no admin/)
  const shown = await app.inject(visit('/console/sign-in', 'latchkey-notice=signed-out'))
  assert.match(textOf(shown), /You are signed out\./)
  assert.match(String(shown.headers['set-cookie']), /^latchkey-notice=; Max-Age=0;/)
  for (const forged of ['<b>x</b>', '__proto__', 'toString', 'x'])
    assert.doesNotMatch((await app.inject(visit('/console/sign-in', `latchkey-notice=${forged}`))).body, /role="status"/)
})

test('303: a session of the pages is listed like any other, and every revocation is felt by the next request', async (t) => {
  const service = await startApp(t)
  const { app, services, mailbox } = service
  const revocations: Readonly<Record<string, (id: number) => Promise<unknown>>> = {
    ban: (id) => services.userAdministration.ban(OPERATOR, id),
    deletion: (id) => services.userAdministration.remove(OPERATOR, id),
    'password change': (id) => services.users.changePassword(OPERATOR, id, 'a brand new password'),
    'password reset': async (id) => {
      await services.userAdministration.sendPasswordReset(OPERATOR, id)
      const { email } = await services.userAdministration.find(id)
      const code = await mailbox.codeFor(email)
      assert.equal((await app.inject(resetPassword({ code }))).statusCode, 200)
    },
    'all sessions': (id) => services.sessions.revokeAll(OPERATOR, id),
  }
  for (const [name, revoke] of Object.entries(revocations)) {
    const mia = await member(service)
    const cookie = await signIn(app, mia)
    assert.equal((await services.sessions.list(mia.id)).length, 2)
    assert.equal((await app.inject(visit('/account/', cookie))).statusCode, 200)
    await revoke(mia.id)
    const next = await app.inject(visit('/account/', cookie))
    assert.equal(next.statusCode, 303, name)
    assert.match(String(next.headers['set-cookie']), /^latchkey-notice=session-ended;/, name)
    assert.equal((await app.inject(submit('/account/sign-out', {}, cookie))).statusCode, 401, name)
  }
})

test('200: the sign-in page says that a session has ended, and does not praise it', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const first = await app.inject(visit('/account/'))
  assert.equal(first.headers['set-cookie'], undefined, 'without a cookie no session has ended')
  const shown = await app.inject(visit('/account/sign-in', 'latchkey-notice=session-ended'))
  assert.match(shown.body, /<p class="notice" role="status">Your session has ended\. Sign in again\.<\/p>/)
})

test('403: signing in is refused for forms of other sites', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const { headers, ...request } = submit('/account/sign-in', credentials(mia))
  for (const site of ['cross-site', 'same-site', 'none']) {
    const response = await service.app.inject({ ...request, headers: { ...headers, 'sec-fetch-site': site } })
    assert.deepEqual([response.statusCode, response.headers['set-cookie']], [403, undefined])
  }
  assert.equal((await service.app.inject({ ...request, headers: { ...headers, ...SAME_ORIGIN } })).statusCode, 303)
})

test('303: each area has its own session: signing in to the account pages leaves the console as it is', async (t) => {
  const service = await startApp(t)
  const { app } = service
  const boss = await admin(service)
  const mia = await member(service)
  const ofConsole = sessionCookie(await app.inject(submit('/console/sign-in', credentials(boss))))
  const account = await app.inject(submit('/account/sign-in', credentials(mia), ofConsole))
  const ofAccount = sessionCookie(account)
  assert.deepEqual([ofConsole.split('=')[0], ofAccount.split('=')[0]], ['latchkey-console', 'latchkey'])
  const cookie = `${ofConsole}; ${ofAccount}`
  assert.match(textOf(await app.inject(visit('/console/', cookie))), new RegExp(boss.email))
  assert.match(textOf(await app.inject(visit('/account/', cookie))), new RegExp(mia.email))
  assert.equal(
    (await app.inject(visit('/console/', ofAccount))).statusCode,
    303,
    'a session of the account pages does not open the console',
  )
  assert.equal((await app.inject(submit('/account/sign-out', {}, cookie))).statusCode, 303)
  assert.equal((await app.inject(visit('/console/', cookie))).statusCode, 200)
  assert.equal((await app.inject(visit('/account/', cookie))).statusCode, 303)
})
