import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'
import { codeAt } from '../../../../src/security/totp.ts'
import { statement } from '../../../../src/storage/database.ts'
import { type Actor, member } from '../../../support/app/actors.ts'
import { turnOnCodes } from '../../../support/app/codes.ts'
import { arrived, beginSignIn, follow, handedOff, hiddenFields, PRODUCT, WITH_PRODUCT } from '../../../support/app/hand-off.ts'
import { addPasskey, askForPasskey } from '../../../support/app/second-factor.ts'
import { secondApp, startApp, type TestApp } from '../../../support/app/start-app.ts'
import { type ContractContext, test } from '../../../support/databases/databases.ts'
import { credentials, sessionCookie, signIn, submit, textOf, visit } from '../../../support/http/pages.ts'
import { newEmail, PASSWORD } from '../../../support/http/requests.ts'

const ROWS = statement<object>('select id from hand_offs')
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

const start = (t: ContractContext, env: Record<string, string> = {}) => startApp(t, { env: { ...WITH_PRODUCT, ...env } })

async function exchanged({ app }: TestApp, code: string, verifier: string): Promise<{ method: string; second_factor: boolean }> {
  const response = await app.inject({ method: 'POST', url: '/login/exchange', payload: { code, code_verifier: verifier } })
  assert.equal(response.statusCode, 200, response.body)
  const headers = { authorization: `Bearer ${response.json().token}` }
  const sessions: { method: string; second_factor: boolean; current: boolean }[] = (
    await app.inject({ url: '/users/me/sessions', headers })
  ).json()
  const { method, second_factor } = sessions.find(({ current }) => current) ?? assert.fail('no session')
  return { method, second_factor }
}

/** The cookie that remembers where a product waits. */
function rememberedIn({ headers }: LightMyRequestResponse): string {
  const cookies = [headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';')[0] ?? '')
  return cookies.find((cookie) => cookie.startsWith('latchkey-next=/account/hand-off?')) ?? assert.fail('nothing is remembered')
}

function assertLeadsNowhere({ statusCode, headers, body }: LightMyRequestResponse, note: string): void {
  assert.deepEqual([statusCode, headers.location], [422, undefined], note)
  assert.match(String(headers['content-type']), /^text\/html/, note)
  assert.match(String(headers['content-security-policy']), /form-action 'self';/, note)
  assert.ok(!body.includes('evil'), note)
}

test('303: with the password the browser goes to the product, with a code and the state', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const returnTo = `${PRODUCT}/in?tab=2&q=a%20b`
  const { state, verifier, query } = beginSignIn(returnTo)
  const form = await service.app.inject(visit(`/account/sign-in?${query}`))
  assert.equal(form.statusCode, 200)
  assert.match(textOf(form), /Continue to app\.example\.com/)
  assert.match(String(form.headers['content-security-policy']), /; form-action 'self' https:\/\/app\.example\.com; /)
  const wrong = await service.app.inject(submit('/account/sign-in', { ...hiddenFields(form), email: mia.email, password: 'not this one' }))
  assert.equal(wrong.statusCode, 400)
  assert.deepEqual(hiddenFields(wrong), hiddenFields(form), 'the product is not forgotten')
  assert.match(String(wrong.headers['content-security-policy']), /form-action 'self' https:\/\/app\.example\.com;/)
  const signedIn = await service.app.inject(submit('/account/sign-in', { ...hiddenFields(form), ...credentials(mia) }))
  const left = await follow(service, signedIn, sessionCookie(signedIn))
  assert.ok(String(left.headers.location).startsWith(`${returnTo}&code=`), String(left.headers.location))
  const code = arrived(left, state, `${PRODUCT}/in`)
  assert.match(code, /^[\w-]{43}$/)
  assert.equal(left.headers['referrer-policy'], 'no-referrer')
  assert.deepEqual(await exchanged(service, code, verifier), { method: 'password', second_factor: false })
})

test('303: somebody who is signed in passes without a question, at both pages and in every process', async (t) => {
  const service = await start(t, { FRONTEND_URL: 'https://www.example.com/shop' })
  const other = { app: await secondApp(t, service) }
  const mia = await member(service)
  const cookie = await signIn(service.app, mia)
  for (const [page, returnTo] of [
    ['sign-in', `${PRODUCT}/`],
    ['register', 'https://www.example.com/other'],
  ]) {
    const { state, verifier, query } = beginSignIn(returnTo)
    const left = await follow(other, await other.app.inject(visit(`/account/${page}?${query}`, cookie)), cookie)
    assert.equal((await exchanged(service, arrived(left, state, returnTo), verifier)).method, 'password')
  }
})

test('303: a session that has ended is asked to sign in, and arrives after that', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const cookie = await signIn(service.app, mia)
  await service.app.inject(submit('/account/sign-out', {}, cookie))
  const { state, query } = beginSignIn()
  const form = await follow(service, await service.app.inject(visit(`/account/sign-in?${query}`, cookie)), cookie)
  assert.equal(form.statusCode, 200)
  assert.match(String(form.headers['content-security-policy']), /form-action 'self' https:\/\/app\.example\.com;/)
  const signedIn = await service.app.inject(submit('/account/sign-in', { ...hiddenFields(form), ...credentials(mia) }))
  arrived(await follow(service, signedIn, sessionCookie(signedIn)), state)
})

test('303: the second step leads on, also after a wrong code and a challenge that has expired', async (t) => {
  const service = await start(t)
  const { app, clock } = service
  const mia = await member(service)
  const { code: totp } = await turnOnCodes(service, mia)
  const { state, verifier, query } = beginSignIn()
  const firstStep = async (address: string) => {
    const form = await app.inject(visit(address))
    return app.inject(submit('/account/sign-in', { ...hiddenFields(form), ...credentials(mia) }))
  }
  const expired = await firstStep(`/account/sign-in?${query}`)
  clock.advance({ minutes: 6 })
  const ended = await app.inject(submit('/account/sign-in/second-step', { ...hiddenFields(expired), code: totp() }))
  assert.equal(ended.statusCode, 303)
  const again = await firstStep(String(ended.headers.location))
  const wrong = await app.inject(submit('/account/sign-in/second-step', { ...hiddenFields(again), code: '000000' }))
  for (const page of [again, wrong])
    assert.match(String(page.headers['content-security-policy']), /form-action 'self' https:\/\/app\.example\.com;/)
  const done = await app.inject(submit('/account/sign-in/second-step', { ...hiddenFields(wrong), code: totp() }))
  const code = arrived(await follow(service, done, sessionCookie(done)), state)
  assert.deepEqual(await exchanged(service, code, verifier), { method: 'password', second_factor: true })
})

test('303: a passkey leads on, also after one that is not accepted', async (t) => {
  const service = await start(t, { BASE_URL: 'http://localhost' })
  const { app } = service
  const mia = await member(service)
  const { authenticator } = await addPasskey(service, mia)
  const { state, verifier, query } = beginSignIn()
  const { next = '' } = hiddenFields(await app.inject(visit(`/account/sign-in?${query}`)))
  const refused = await app.inject(submit('/account/sign-in/passkey', { next, passkey: '{}' }))
  assert.equal(refused.statusCode, 401)
  assert.match(String(refused.headers['content-security-policy']), /form-action 'self' https:\/\/app\.example\.com;/)
  const passkey = JSON.stringify(authenticator.get(await askForPasskey(service)))
  const done = await app.inject(submit('/account/sign-in/passkey', { next: hiddenFields(refused)['next'] ?? '', passkey }))
  const code = arrived(await follow(service, done, sessionCookie(done)), state)
  assert.deepEqual(await exchanged(service, code, verifier), { method: 'passkey', second_factor: true })
})

test('303: the code and the link of a sign-in mail lead on', async (t) => {
  const service = await start(t, { EMAIL_SIGN_IN: 'true' })
  const { app, mailbox, clock } = service
  const mia = await member(service)
  for (const way of ['code', 'link'] as const) {
    clock.advance({ minutes: 1 })
    const { state, verifier, query } = beginSignIn()
    const form = await app.inject(visit(`/account/sign-in?${query}`))
    const [, link = ''] = /<a href="([^"]*)">Sign in by email</.exec(form.body) ?? []
    const request = await app.inject(visit(link))
    const asked = await app.inject(submit('/account/sign-in/email', { ...hiddenFields(request), email: mia.email }))
    assert.equal(asked.statusCode, 200)
    assert.match(String(asked.headers['content-security-policy']), /form-action 'self' https:\/\/app\.example\.com;/)
    const mail = (await mailbox.messages()).findLast(({ to }) => to === mia.email) ?? assert.fail('no mail')
    const [, digits = ''] = /^- (\d{8})$/m.exec(mail.text) ?? []
    const wrong = await app.inject(submit('/account/sign-in/email/code', { ...hiddenFields(asked), code: '1' }))
    assert.equal(wrong.statusCode, 401)
    const { pathname, search } = new URL(mail.link)
    const opened = await app.inject(visit(`${pathname}${search}`, rememberedIn(asked)))
    assert.match(String(opened.headers['content-security-policy']), /form-action 'self' https:\/\/app\.example\.com;/)
    const done = await app.inject(
      way === 'code'
        ? submit('/account/sign-in/email/code', { ...hiddenFields(wrong), code: digits })
        : submit('/account/email-sign-in', hiddenFields(opened)),
    )
    const code = arrived(await follow(service, done, sessionCookie(done)), state)
    assert.deepEqual(await exchanged(service, code, verifier), { method: 'email', second_factor: false })
  }
})

test('200: the page for a sign-in mail says the same for every address', async (t) => {
  const service = await start(t, { EMAIL_SIGN_IN: 'true' })
  const { email } = await member(service)
  const answers = []
  for (const address of [email, newEmail()]) {
    const { statusCode, body } = await service.app.inject(submit('/account/sign-in/email', { email: address }))
    answers.push([statusCode, body.replaceAll(address, '')])
  }
  assert.deepEqual(answers[0], answers[1])
  const without = await start(t)
  assert.equal((await without.app.inject(visit('/account/sign-in/email'))).statusCode, 404)
  assert.doesNotMatch(textOf(await without.app.inject(visit('/account/sign-in'))), /by email/)
})

test('303: somebody who registers arrives after verifying and signing in, in the same tab or in another one', async (t) => {
  const service = await start(t)
  const { app, mailbox } = service
  for (const tab of ['same', 'other']) {
    const mia = { email: newEmail(), password: PASSWORD }
    const { state, verifier, query } = beginSignIn()
    const form = await app.inject(visit(`/account/register?${query}`))
    assert.match(textOf(form), /Continue to app\.example\.com/)
    const names = { first_name: 'Mia', last_name: 'Muster' }
    const invalid = await app.inject(submit('/account/register', { ...hiddenFields(form), ...names, ...mia, password: 'short' }))
    assert.equal(invalid.statusCode, 422)
    const registered = await app.inject(submit('/account/register', { ...hiddenFields(invalid), ...names, ...mia }))
    assert.equal(registered.statusCode, 200)
    const [, link = ''] = /<a class="button primary" href="([^"]*)">Sign in</.exec(registered.body) ?? []
    const verified = await app.inject(visit(`/verify/?code=${await mailbox.codeFor(mia.email)}`))
    const [, plainLink = ''] = /<a class="button primary" href="([^"]*)">Sign in</.exec(verified.body) ?? []
    assert.equal(plainLink, '/account/sign-in')
    const signInForm = await app.inject(tab === 'same' ? visit(link) : visit(plainLink, rememberedIn(registered)))
    const signedIn = await app.inject(submit('/account/sign-in', { ...hiddenFields(signInForm), ...mia }))
    const cookie = `${sessionCookie(signedIn)}; ${rememberedIn(registered)}`
    const left = await follow(service, signedIn, cookie)
    assert.match(String(left.headers['set-cookie']), /^latchkey-next=; Max-Age=0;/, 'remembered until it is done')
    assert.equal((await exchanged(service, arrived(left, state), verifier)).method, 'password')
  }
})

test('303: every page around signing in keeps the product', async (t) => {
  const service = await start(t, { EMAIL_SIGN_IN: 'true' })
  const { query, state } = beginSignIn()
  const form = await service.app.inject(visit(`/account/sign-in?${query}`))
  const links = [...form.body.matchAll(/<a href="(\/account\/[^"]*)">/g)].map(([, link = '']) => link)
  assert.equal(links.length, 4)
  const mia = await member(service)
  for (const link of links) {
    const page = await service.app.inject(visit(link))
    const [, back = ''] = /<a href="(\/account\/sign-in\?next=[^"]*)">/.exec(page.body) ?? assert.fail(`${link} loses the product`)
    const again = await service.app.inject(visit(back))
    const signedIn = await service.app.inject(submit('/account/sign-in', { ...hiddenFields(again), ...credentials(mia) }))
    arrived(await follow(service, signedIn, sessionCookie(signedIn)), state)
  }
  for (const path of ['forgot-password', 'resend-verification']) {
    const link = links.find((one) => one.includes(path)) ?? assert.fail(path)
    const fields = hiddenFields(await service.app.inject(visit(link)))
    rememberedIn(await service.app.inject(submit(`/account/${path}`, { ...fields, email: mia.email })))
  }
})

test('303: where a second factor is required, it is set up or given before the product is reached', async (t) => {
  const service = await start(t, { SECOND_FACTOR: 'everybody' })
  const { app, db } = service
  const mia = await member(service)
  const { state, verifier, query } = beginSignIn()
  const form = await app.inject(visit(`/account/sign-in?${query}`))
  const signedIn = await app.inject(submit('/account/sign-in', { ...hiddenFields(form), ...credentials(mia) }))
  const session = sessionCookie(signedIn)
  const handOff = String(signedIn.headers.location)
  const led = await app.inject(visit(handOff, session))
  assert.match(String(led.headers.location), /^\/account\/second-factor\?next=/)
  const toSetUp = await app.inject(visit(String(led.headers.location), session))
  assert.equal(toSetUp.headers.location, '/account/security')
  assert.deepEqual(await db.all(ROWS), [], 'no code was issued')
  const cookie = `${session}; ${rememberedIn(toSetUp)}`
  assert.doesNotMatch(textOf(await app.inject(visit('/account/security', cookie))), /Continue to/)

  const setUp = await app.inject(submit('/account/security/codes', {}, cookie))
  const { secret = '' } = hiddenFields(setUp)
  const codeNow = () => codeAt(secret, Math.floor(service.clock.now() / 30_000))
  assert.equal((await app.inject(submit('/account/security/codes/on', { secret, code: codeNow() }, cookie))).statusCode, 303)
  const security = await app.inject(visit('/account/security', cookie))
  const [, onward = ''] = /<a class="button primary" href="([^"]*)">Continue to app\.example\.com</.exec(security.body) ?? []
  const left = await app.inject(visit(onward.replaceAll('&amp;', '&'), cookie))
  assert.deepEqual(await exchanged(service, arrived(left, state), verifier), { method: 'password', second_factor: true })
})

/** What must never be followed. Each is tried with every page that takes it. */
const ATTACKS: Readonly<Record<string, string>> = {
  'another host': 'https://evil.example/',
  'a host that begins like the product': 'https://app.example.com.evil.example/',
  'a host that ends like the product': 'https://evilapp.example.com/',
  'a parent domain': 'https://example.com/evil',
  'a subdomain': 'https://evil.app.example.com/',
  'a trailing dot': 'https://app.example.com./evil',
  http: 'http://app.example.com/evil',
  'another port': 'https://app.example.com:8443/evil',
  'a port of http': 'https://app.example.com:80/evil',
  user: 'https://evil@app.example.com/',
  'user and password': 'https://evil:evil@app.example.com/',
  'an empty user': 'https://@app.example.com/evil',
  'the product as user': 'https://app.example.com@evil.example/',
  'the product as user, with a port': 'https://app.example.com:443@evil.example/',
  'an encoded user': 'https://app.example.com%40evil.example/',
  'a backslash after the host': 'https://app.example.com\\evil.example/',
  'a backslash before @': 'https://app.example.com\\@evil.example/',
  'backslashes for slashes': 'https:\\\\app.example.com/evil',
  'one slash': 'https:/app.example.com/evil',
  'no slash': 'https:app.example.com/evil',
  'three slashes': 'https:///app.example.com/evil',
  'no scheme': '//app.example.com/evil',
  'no scheme, another host': '//evil.example/',
  'a path': '/evil',
  'a page of this service': '/account/?evil',
  'an encoded slash in the host': 'https://evil.example%2f.app.example.com/',
  'an encoded hash in the host': 'https://evil.example%23.app.example.com/',
  'a fragment': 'https://app.example.com/#evil',
  'an empty fragment': 'https://app.example.com/evil#',
  'a fragment before the host': 'https://evil.example#@app.example.com/',
  'a query before the host': 'https://evil.example?@app.example.com/',
  'its own code': 'https://app.example.com/evil?code=1',
  'its own state': 'https://app.example.com/evil?a=1&state=1',
  'its own code, encoded': 'https://app.example.com/evil?%63ode=1',
  'a script': 'javascript:alert("evil")//https://app.example.com/',
  'a script with an origin': 'javascript://app.example.com/%0aalert("evil")',
  data: 'data:text/html,evil',
  'a blob of the product': 'blob:https://app.example.com/evil',
  'a file': 'file:///evil',
  'the source of the product': 'view-source:https://app.example.com/evil',
  'another scheme': 'ftp://app.example.com/evil',
  'a web socket': 'wss://app.example.com/evil',
  'a tab in the scheme': 'ht\ttps://app.example.com/evil',
  'a tab in the host': 'https://app.example.com\t.evil.example/',
  'a new line': 'https://app.example.com/\r\nset-cookie: evil=1',
  'a new line in the host': 'https://app.example.com\n.evil.example/',
  'a space before': ' https://app.example.com/evil',
  'a space after': 'https://app.example.com/evil ',
  'a space in the host': 'https://app.example.com .evil.example/',
  'a null character': 'https://app.example.com\u0000.evil.example/',
  'a wide full stop': 'https://app.example.com．evil.example/',
  'a wide slash': 'https://evil.example／app.example.com/',
  'a letter of another script': 'https://app.exаmple.com/evil',
  'the same in punycode': 'https://app.xn--exmple-4nf.com/evil',
  'an IP address': 'https://127.0.0.1/evil',
  'a semicolon in the host': 'https://app.example.com;evil.example/',
  'a policy in the host': "https://app.example.com' 'unsafe-inline/evil",
  'a host in brackets': 'https://[app.example.com]/evil',
  'very long': `https://app.example.com/evil${'x'.repeat(1000)}`,
  nothing: '',
  'the word null': 'null',
}

test('422: an address outside of the origins of the product leads nowhere, whatever its spelling', async (t) => {
  const service = await start(t, { FRONTEND_URL: 'https://www.example.com/shop' })
  const { app, db } = service
  const cookie = await signIn(app, await member(service))
  const paths = ['/account/sign-in', '/account/register', '/account/sign-out']
  for (const [name, address] of Object.entries(ATTACKS)) {
    const query = new URLSearchParams({ return_to: address, code_challenge: CHALLENGE, state: 'x' })
    for (const path of paths) assertLeadsNowhere(await app.inject(visit(`${path}?${query}`)), `${name}: ${path}`)
    for (const path of [...paths, '/account/hand-off'])
      assertLeadsNowhere(await app.inject(visit(`${path}?${query}`, cookie)), `${name}: ${path}, signed in`)
    // An empty field is none.
    const signOut = await app.inject(submit('/account/sign-out', { return_to: address || 'x' }, cookie))
    assert.deepEqual([signOut.statusCode, signOut.headers.location], [422, undefined], name)
  }
  assert.deepEqual(await db.all(ROWS), [])
  assert.equal((await app.inject(visit('/account/', cookie))).statusCode, 200, 'nobody was signed out')
})

test('422: an address that a form carries is checked like one in a link', async (t) => {
  const service = await start(t)
  const { app, clock, db } = service
  const mia = await member(service)
  for (const [name, address] of Object.entries(ATTACKS)) {
    const next = `/account/hand-off?${new URLSearchParams({ return_to: address, code_challenge: CHALLENGE })}`
    const shown = await app.inject({ ...visit('/account/sign-in'), query: { next } })
    assert.match(String(shown.headers['content-security-policy']), /form-action 'self';/, name)
    const carried = await app.inject(submit('/account/sign-in', { ...credentials(mia), next }))
    const left = await follow(service, carried, sessionCookie(carried))
    assertLeadsNowhere(left, name)
    clock.advance({ minutes: 1 })
  }
  assert.deepEqual(await db.all(ROWS), [])
})

test('303: other spellings of an address of the product lead to the product', async (t) => {
  const service = await start(t, { RETURN_ORIGINS: 'https://app.example.com:443, http://localhost:3000,https://bücher.example' })
  const cookie = await signIn(service.app, await member(service))
  const spellings = {
    'HTTPS://APP.Example.COM/In': 'https://app.example.com/In?code=',
    'https://app.example.com': 'https://app.example.com/?code=',
    'https://app.example.com:443/?': 'https://app.example.com/?code=',
    'https://app.example.com/a/../b?x=%20y': 'https://app.example.com/b?x=%20y&code=',
    'https://app.example.com/@user/x@y?u=@': 'https://app.example.com/@user/x@y?u=@&code=',
    'https://app.example.com/,https://evil.example/': 'https://app.example.com/,https://evil.example/?code=',
    'http://localhost:3000/in': 'http://localhost:3000/in?code=',
    'https://bücher.example/ü': 'https://xn--bcher-kva.example/%C3%BC?code=',
    'https://xn--bcher-kva.example/': 'https://xn--bcher-kva.example/?code=',
  }
  for (const [spelling, expected] of Object.entries(spellings)) {
    const query = new URLSearchParams({ return_to: spelling, code_challenge: CHALLENGE, state: 'a b&code=1' })
    const left = await follow(service, await service.app.inject(visit(`/account/sign-in?${query}`, cookie)), cookie)
    const { location } = left.headers
    assert.ok(String(location).startsWith(expected), `${spelling}: ${left.statusCode} ${location}`)
    const { searchParams } = new URL(String(location))
    assert.deepEqual([searchParams.getAll('state'), searchParams.getAll('code').length], [['a b&code=1'], 1])
  }
})

test('422: a missing, short, long or plain challenge, a bad state and repeated parameters lead nowhere', async (t) => {
  const service = await start(t)
  const cookie = await signIn(service.app, await member(service))
  const returnTo = `return_to=${encodeURIComponent(`${PRODUCT}/`)}`
  const queries = [
    returnTo,
    `${returnTo}&state=x`,
    `${returnTo}&code_challenge=`,
    `${returnTo}&code_challenge=${CHALLENGE.slice(1)}`,
    `${returnTo}&code_challenge=${CHALLENGE}A`,
    `${returnTo}&code_challenge=${CHALLENGE.replace('E', '%2B')}`,
    `${returnTo}&code_challenge=${CHALLENGE.replace('E', '%3D')}`,
    `${returnTo}&code_challenge=${CHALLENGE}&state=`,
    `${returnTo}&code_challenge=${CHALLENGE}&state=%0d%0aevil`,
    `${returnTo}&code_challenge=${CHALLENGE}&state=%C3%BC`,
    `${returnTo}&code_challenge=${CHALLENGE}&state=${'x'.repeat(201)}`,
    `${returnTo}&${returnTo}&code_challenge=${CHALLENGE}`,
    `${returnTo}&return_to=https%3A%2F%2Fevil.example%2F&code_challenge=${CHALLENGE}`,
    `${returnTo}&code_challenge=${CHALLENGE}&code_challenge=${CHALLENGE}`,
    `${returnTo}&code_challenge=${CHALLENGE}&state=x&state=y`,
    `code_challenge=${CHALLENGE}`,
    'state=x',
  ]
  for (const query of queries)
    for (const path of ['/account/sign-in', '/account/register', '/account/hand-off'])
      assertLeadsNowhere(await service.app.inject(visit(`${path}?${query}`, cookie)), `${path}?${query}`)
  assert.deepEqual(await service.db.all(ROWS), [])
  const said = textOf(await service.app.inject(visit(`/account/sign-in?${returnTo}`)))
  assert.match(said, /The link that has led you here is not valid\. Go back and try again\./)
  // What its developer has to correct is in the log.
  assert.doesNotMatch(said, /code_challenge|return_to/)
  assert.match(service.logged.at(-1) ?? '', /"reason":"code_challenge should be a challenge of the method S256/)
  // The state is the product's: without one, none is sent back.
  const left = await follow(
    service,
    await service.app.inject(visit(`/account/sign-in?${returnTo}&code_challenge=${CHALLENGE}`, cookie)),
    cookie,
  )
  assert.match(String(left.headers.location), /^https:\/\/app\.example\.com\/\?code=[\w-]{43}$/)
})

test('422: without RETURN_ORIGINS and FRONTEND_URL there is no product', async (t) => {
  const service = await startApp(t)
  const { query } = beginSignIn()
  assertLeadsNowhere(await service.app.inject(visit(`/account/sign-in?${query}`)), 'no origins')
})

test('a forged cookie cannot lead anywhere but to the product', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const evil = new URLSearchParams({ return_to: 'https://evil.example/', code_challenge: CHALLENGE })
  for (const next of ['https://evil.example/', '//evil.example', `/account/hand-off?${evil}`, '/account/../evil', '/account/sign-out']) {
    const form = await service.app.inject(visit('/account/sign-in', `latchkey-next=${next}`))
    assert.match(String(form.headers['content-security-policy']), /form-action 'self';/)
    const signedIn = await service.app.inject(submit('/account/sign-in', { ...hiddenFields(form), ...credentials(mia) }))
    const left = await follow(service, signedIn, sessionCookie(signedIn))
    assert.ok(left.headers.location === undefined, `${next}: ${left.headers.location}`)
  }
})

test('303: the question whether to sign out ends the session and leads to the product', async (t) => {
  const service = await start(t)
  const { app } = service
  const mia: Actor = await member(service)
  const { cookie } = await handedOff(service, mia)
  const address = `/account/sign-out?return_to=${encodeURIComponent(`${PRODUCT}/bye?a=1`)}`
  const asked = await app.inject(visit(address, cookie))
  assert.equal(asked.statusCode, 200)
  assert.match(textOf(asked), /Do you want to sign out\? Sign out/)
  assert.match(String(asked.headers['content-security-policy']), /form-action 'self' https:\/\/app\.example\.com;/)
  assert.equal((await app.inject(visit('/account/', cookie))).statusCode, 200, 'the question changes nothing')
  const left = await app.inject(submit('/account/sign-out', hiddenFields(asked), cookie))
  assert.deepEqual([left.statusCode, left.headers.location], [303, `${PRODUCT}/bye?a=1`])
  assert.match(String(left.headers['set-cookie']), /^latchkey=; Max-Age=0; /)
  assert.equal((await app.inject(visit('/account/', cookie))).statusCode, 303)
  // Somebody who is signed out already is not asked.
  for (const who of [undefined, cookie]) assert.equal((await app.inject(visit(address, who))).headers.location, `${PRODUCT}/bye?a=1`)
  assert.equal((await app.inject(visit('/account/sign-out', cookie))).headers.location, '/account/sign-in')
  // Only a form of these pages signs out.
  const other = await signIn(app, mia)
  const { headers, ...request } = submit('/account/sign-out', hiddenFields(asked), other)
  assert.equal((await app.inject({ ...request, headers: { ...headers, 'sec-fetch-site': 'cross-site' } })).statusCode, 403)
})
