import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { keyHolder, member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { storedEvents, storedKinds } from '../../../support/app/audit.ts'
import { arrived, beginSignIn, hiddenFields, PRODUCT, WITH_PRODUCT } from '../../../support/app/hand-off.ts'
import { type Browser, createBrowser, leadsTo } from '../../../support/app/provider-browser.ts'
import { caller, turnOn } from '../../../support/app/second-factor.ts'
import { type StartOptions, secondApp, startApp, type TestApp } from '../../../support/app/start-app.ts'
import { type ContractContext, test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { textOf } from '../../../support/http/pages.ts'
import { login, newEmail, PASSWORD, verify } from '../../../support/http/requests.ts'
import { type IdentityProvider, type Person, startIdentityProvider } from '../../../support/servers/identity-provider.ts'

const START = '/login/with/acme'
const IDENTITIES = statement<{ user_id: number; provider: string; subject: string; email: string }>(
  'select user_id, provider, subject, email from identities order by provider, subject',
)
const USERS = statement<{
  id: number
  email: string
  verified: number | boolean
  password_hash: string
  first_name: string
  last_name: string
}>('select id, email, verified, password_hash, first_name, last_name from users order by id')
const CONNECT = statement(
  "insert into identities (issuer, subject, user_id, provider, email, connected_at) values ($1, 'eve', $2, 'corp', '', 0)",
)
const UNVERIFY = statement('update users set verified = false where id = $1')
const METHODS = statement<{ method: string }>('select method from sessions order by created_at, id')

type Setting = TestApp & { readonly provider: IdentityProvider; readonly other: IdentityProvider }

/** A service with two providers. */
async function start(t: ContractContext, options: StartOptions = {}): Promise<Setting> {
  const [provider, other] = [await startIdentityProvider(t), await startIdentityProvider(t)]
  const env = { SIGN_IN_PROVIDERS: 'acme,corp', ...provider.env('acme'), ...other.env('corp'), ...options.env }
  return { ...(await startApp(t, { ...options, env })), provider, other }
}

/** Signs in at a provider. Returns the response to the way back. */
async function signIn({ provider }: Pick<Setting, 'provider'>, browser: Browser, person: Person, url = START) {
  return browser.open(provider.authorize(leadsTo(await browser.open(url)), person))
}

const somebody = (fields: Partial<Person> = {}): Person => ({
  sub: 'acme-7',
  email: newEmail(),
  email_verified: true,
  name: 'Mia Muster',
  ...fields,
})
const users = async ({ db }: TestApp) => (await db.all(USERS)).map((user) => ({ ...user, verified: Boolean(user.verified) }))

test('303: an unknown identity with a verified address gets a verified account without a password', async (t) => {
  const service = await start(t)
  const [browser, person] = [createBrowser(service), somebody()]
  const response = await signIn(service, browser, person)
  assert.equal(leadsTo(response), '/account/')
  const [user] = await users(service)
  assert.deepEqual(
    { ...user, id: 0 },
    { id: 0, email: person.email, verified: true, password_hash: '!', first_name: 'Mia', last_name: 'Muster' },
  )
  assert.deepEqual(await service.db.all(METHODS), [{ method: 'acme' }])
  assert.equal((await browser.open('/account/')).statusCode, 200)
  const kinds = (await storedKinds(service.db)).map((kind) => kind.replace(/ \d+$/, ''))
  assert.deepEqual(kinds, ['user.registered', 'provider.connected', 'session.created'])
  assert.equal((await service.mailbox.messages()).length, 0)
  refused(await service.app.inject(login({ email: person.email ?? '', password: '!' })), 400, 'Wrong email or password')
})

test('303: from the sign-in page of the console, an admin gets to the console', async (t) => {
  const service = await start(t)
  const person = somebody()
  await signIn(service, createBrowser(service), person)
  const [user] = await users(service)
  await service.services.userAdministration.makeAdmin(OPERATOR, user?.id ?? 0)
  const browser = createBrowser(service)
  assert.equal(leadsTo(await signIn(service, browser, person, `${START}?next=%2Fconsole%2Fusers`)), '/console/users')
  assert.equal((await browser.open('/console/users')).statusCode, 200)
  assert.equal(leadsTo(await browser.open('/account/')), '/account/sign-in')
  for (const next of ['/console', '/console?x=1']) {
    const another = createBrowser(service)
    await signIn(service, another, person, `${START}?next=${encodeURIComponent(next)}`)
    assert.deepEqual([...another.jar.keys()], ['latchkey-console'], next)
  }
})

test('303: a known identity signs in, and an address that changed at the provider changes nothing', async (t) => {
  const service = await start(t)
  const person = somebody()
  await signIn(service, createBrowser(service), person)
  const before = await users(service)
  const victim = await member(service)
  const browser = createBrowser(service)
  assert.equal(leadsTo(await signIn(service, browser, { ...person, email: victim.email, name: 'Somebody Else' })), '/account/')
  assert.deepEqual(
    (await users(service)).filter(({ id }) => id !== victim.id),
    before,
  )
  assert.match(textOf(await browser.open('/account/security')), new RegExp(person.email ?? '-'))
  assert.deepEqual(
    (await service.db.all(IDENTITIES)).map(({ email }) => email),
    [person.email],
  )
})

test('303: the address of a verified account opens nothing; its owner signs in once and connects it', async (t) => {
  const service = await start(t)
  const mia = await member(service)
  const browser = createBrowser(service)
  const person = somebody({ email: mia.email.toUpperCase() })
  assert.equal(leadsTo(await signIn(service, browser, person)), '/account/connect')
  assert.equal(browser.isSignedIn(), false)
  assert.deepEqual(await service.db.all(IDENTITIES), [])
  assert.match(textOf(await browser.open('/account/connect')), /There is already an account with the address/)
  // The page that connects asks to sign in first.
  const toSignIn = leadsTo(await browser.open('/account/connect/confirm'))
  assert.match(toSignIn, /^\/account\/sign-in\?next=%2Faccount%2Fconnect%2Fconfirm$/)
  const fields = { email: mia.email, password: mia.password, next: '/account/connect/confirm' }
  assert.equal(leadsTo(await browser.send('/account/sign-in', fields)), '/account/connect/confirm')
  assert.match(textOf(await browser.open('/account/connect/confirm')), /Connect Acme\?/)
  assert.equal(leadsTo(await browser.send('/account/connect/confirm')), '/account/security')
  assert.deepEqual(
    (await service.db.all(IDENTITIES)).map(({ user_id }) => Number(user_id)),
    [mia.id],
  )
  // From then on, it opens the account.
  assert.equal(leadsTo(await signIn(service, createBrowser(service), person)), '/account/')
  // The cookie has been used.
  assert.equal(leadsTo(await browser.send('/account/connect/confirm')), '/account/security')
  assert.match(textOf(await browser.open('/account/security')), /took too long, or was completed already/)
})

test('connecting: another account, another browser and a later moment connect nothing', async (t) => {
  const service = await start(t)
  const [mia, eve] = [await member(service), await member(service)]
  const browser = createBrowser(service)
  await signIn(service, browser, somebody({ email: mia.email }))
  await browser.send('/account/sign-in', { email: eve.email, password: eve.password })
  assert.match(textOf(await browser.open('/account/connect/confirm')), /You are signed in to another account/)
  assert.match(textOf(await browser.send('/account/connect/confirm')), /You are signed in to another account/)
  const elsewhere = createBrowser(service)
  await elsewhere.send('/account/sign-in', { email: mia.email, password: mia.password })
  assert.equal(leadsTo(await elsewhere.send('/account/connect/confirm')), '/account/security')
  service.clock.advance({ minutes: 9, seconds: 59 })
  await browser.send('/account/sign-in', { email: mia.email, password: mia.password })
  assert.match(textOf(await browser.open('/account/connect/confirm')), /Connect Acme\?/)
  service.clock.advance({ seconds: 1 })
  assert.equal(leadsTo(await browser.send('/account/connect/confirm')), '/account/security')
  assert.deepEqual(await service.db.all(IDENTITIES), [])
})

test('303: an unverified account is taken over by whom its address belongs to, and nothing that opened it before does', async (t) => {
  const service = await start(t, { env: { BASE_URL: 'http://localhost:8000' } })
  const intruder = await member(service)
  const key = await keyHolder(service, intruder)
  const codes = await turnOn(service, intruder)
  // The intruder has connected an account of another provider too.
  const connected = createBrowser(service)
  await connected.send('/account/sign-in', { email: intruder.email, password: intruder.password })
  await service.db.run(CONNECT, service.other.url, intruder.id)
  const reset = service.services.tokens.forMail('reset', intruder.id, intruder.resetVersion)
  await service.db.run(UNVERIFY, intruder.id)
  const browser = createBrowser(service)
  assert.equal(leadsTo(await signIn(service, browser, somebody({ email: intruder.email }))), '/account/')
  const [user] = await users(service)
  assert.deepEqual([user?.id, user?.verified, user?.password_hash], [intruder.id, true, '!'])
  const call = (headers: Readonly<Record<string, string>>) => service.app.inject({ url: '/users/me', headers })
  assert.deepEqual([(await call(intruder.headers)).statusCode, (await call(key.headers)).statusCode], [401, 401])
  refused(await service.app.inject(login(intruder)), 400, 'Wrong email or password')
  const resetting = await service.app.inject({ method: 'POST', url: '/reset-password/', payload: { code: reset, new_password: PASSWORD } })
  refused(resetting, 401, 'That token is Invalid')
  const back = await signIn(
    { provider: service.other },
    createBrowser(service),
    somebody({ sub: 'eve', email: newEmail() }),
    '/login/with/corp',
  )
  assert.equal(leadsTo(back), '/account/', 'a new account')
  assert.deepEqual((await users(service)).length, 2)
  assert.match(textOf(await browser.open('/account/security')), /Codes from an app Off|Off/)
  assert.ok(codes.secret)
  const kinds = (await storedKinds(service.db)).filter((kind) => kind.endsWith(` ${intruder.id}`)).map((kind) => kind.split(' ')[0])
  for (const kind of [
    'user.verified',
    'user.password_changed',
    'factor.reset',
    'key.revoked',
    'session.revoked',
    'provider.disconnected',
    'provider.connected',
  ])
    assert.ok(kinds.includes(kind), kind)
})

test('303: a claim that the provider has not verified does not take an unverified account over, and learns only that there is one', async (t) => {
  const service = await start(t)
  const mia = await member(service, { verified: false })
  const before = await users(service)
  for (const email_verified of [false, undefined]) {
    const { email_verified: _, ...person } = somebody({ email: mia.email })
    const browser = createBrowser(service)
    const response = await signIn(service, browser, email_verified === undefined ? person : { ...person, email_verified })
    assert.equal(leadsTo(response), '/account/connect')
    assert.match(textOf(await browser.open('/account/connect')), /There is already an account with the address/)
    assert.equal(browser.isSignedIn(), false)
    // The right password says more.
    const fields = { email: mia.email, password: mia.password, next: '/account/connect/confirm' }
    assert.equal((await browser.send('/account/sign-in', fields)).headers['x-error-code'], 'login_unverified')
  }
  assert.deepEqual([await users(service), await service.db.all(IDENTITIES)], [before, []])
})

test('200: an address that the provider has not verified is verified by mail before the account opens', async (t) => {
  const service = await start(t)
  const [browser, person] = [createBrowser(service), somebody({ email_verified: false })]
  const response = await signIn(service, browser, person)
  assert.equal(response.statusCode, 200)
  assert.match(textOf(response), /Check your email/)
  assert.equal(browser.isSignedIn(), false)
  assert.equal((await signIn(service, createBrowser(service), person)).headers['x-error-code'], 'login_unverified')
  const code = await service.mailbox.codeFor(person.email ?? '')
  assert.equal((await service.app.inject(verify(code))).statusCode, 200)
  assert.equal(leadsTo(await signIn(service, browser, person)), '/account/')
})

test('a reset of an account that nobody has verified ends what a stranger has connected to it', async (t) => {
  const service = await start(t)
  const person = somebody({ email_verified: false })
  await signIn(service, createBrowser(service), person)
  await service.app.inject({ method: 'POST', url: '/forgot-password/', payload: { email: person.email } })
  const mails = await service.mailbox.messages()
  const code = mails.find(({ subject }) => /reset/i.test(subject))?.code ?? assert.fail('no mail')
  const response = await service.app.inject({
    method: 'POST',
    url: '/reset-password/',
    payload: { code, new_password: 'a brand new password' },
  })
  assert.equal(response.statusCode, 200, response.body)
  assert.deepEqual(await service.db.all(IDENTITIES), [])
})

/** What the owner of an address does who has not registered: sets a password by mail. */
async function resetByMail({ app, mailbox }: TestApp, email: string): Promise<void> {
  await app.inject({ method: 'POST', url: '/forgot-password/', payload: { email } })
  const payload = { code: await mailbox.codeFor(email), new_password: PASSWORD }
  const response = await app.inject({ method: 'POST', url: '/reset-password/', payload })
  assert.equal(response.statusCode, 200, response.body)
}

/** Somebody who has registered with the address of somebody else at a provider, and whose account was then verified by its link. */
async function intrude(service: Setting) {
  const [intruder, person] = [createBrowser(service), somebody({ email_verified: false })]
  await signIn(service, intruder, person)
  const email = person.email ?? ''
  assert.equal((await service.app.inject(verify(await service.mailbox.codeFor(email)))).statusCode, 200)
  await signIn(service, intruder, person)
  return { intruder, person, email }
}

test('a reset ends what was registered with an address that its provider had not verified, also after somebody verified it', async (t) => {
  const service = await start(t)
  const [intruder, person] = [createBrowser(service), somebody({ email_verified: false })]
  await signIn(service, intruder, person)
  const email = person.email ?? ''
  assert.equal((await service.app.inject(verify(await service.mailbox.codeFor(email)))).statusCode, 200)
  assert.equal(leadsTo(await signIn(service, intruder, person)), '/account/')
  // An identity that the intruder connects in the session of the first one is theirs as well.
  const there = { provider: service.other }
  const second = somebody({ sub: 'eve', email: newEmail() })
  assert.equal(leadsTo(await signIn(there, intruder, second, '/login/with/corp?connect=true')), '/account/connect/confirm')
  assert.equal(leadsTo(await intruder.send('/account/connect/confirm')), '/account/security')
  assert.equal((await service.db.all(IDENTITIES)).length, 2)

  await resetByMail(service, email)
  assert.deepEqual(await service.db.all(IDENTITIES), [])
  assert.equal(leadsTo(await intruder.open('/account/')), '/account/sign-in')
  assert.equal(leadsTo(await signIn(service, createBrowser(service), person)), '/account/connect')
  const kinds = (await storedKinds(service.db)).filter((kind) => kind.startsWith('provider.disconnected'))
  assert.equal(kinds.length, 2)
  // From then on, what the owner of the address connects is theirs.
  const owner = createBrowser(service)
  await signIn(service, owner, somebody({ sub: 'mine', email, email_verified: false }))
  await owner.send('/account/sign-in', { email, password: PASSWORD, next: '/account/connect/confirm' })
  assert.equal(leadsTo(await owner.send('/account/connect/confirm')), '/account/security')
  await resetByMail(service, email)
  assert.deepEqual(
    (await service.db.all(IDENTITIES)).map(({ subject }) => subject),
    ['mine'],
  )
})

test('an identity that was not proven is not proven by disconnecting it and connecting it again', async (t) => {
  for (const EMAIL_SIGN_IN of ['false', 'true']) {
    const service = await start(t, { env: { EMAIL_SIGN_IN } })
    const [intruder, person] = [createBrowser(service), somebody({ email_verified: false })]
    await signIn(service, intruder, person)
    const email = person.email ?? ''
    assert.equal((await service.app.inject(verify(await service.mailbox.codeFor(email)))).statusCode, 200)
    await signIn(service, intruder, person)
    // By mail, or with a password that they set with an API key, the intruder has another way in.
    if (EMAIL_SIGN_IN === 'false') {
      const [user] = await users(service)
      const password = 'the password of Eve'
      await service.services.users.changePassword(OPERATOR, user?.id ?? 0, password)
      await intruder.send('/account/sign-in', { email, password })
    }
    assert.equal(leadsTo(await intruder.send('/account/security/providers/acme/disconnect')), '/account/security')
    assert.deepEqual(await service.db.all(IDENTITIES), [])
    await signIn(service, intruder, person, '/login/with/acme?connect=true')
    assert.equal(leadsTo(await intruder.send('/account/connect/confirm')), '/account/security')
    assert.equal((await service.db.all(IDENTITIES)).length, 1)

    await resetByMail(service, email)
    assert.deepEqual(await service.db.all(IDENTITIES), [])
    assert.equal(leadsTo(await signIn(service, createBrowser(service), person)), '/account/connect')
    // What the owner of the address connects afterwards is theirs.
    const owner = createBrowser(service)
    await signIn(service, owner, somebody({ sub: 'mine', email, email_verified: false }))
    await owner.send('/account/sign-in', { email, password: PASSWORD, next: '/account/connect/confirm' })
    await owner.send('/account/connect/confirm')
    await resetByMail(service, email)
    assert.deepEqual(
      (await service.db.all(IDENTITIES)).map(({ subject }) => subject),
      ['mine'],
    )
  }
})

test('signing in by mail also ends the sessions of an identity that was disconnected before', async (t) => {
  const service = await start(t, { env: { EMAIL_SIGN_IN: 'true' } })
  const { intruder, email } = await intrude(service)
  assert.equal(leadsTo(await intruder.send('/account/security/providers/acme/disconnect')), '/account/security')
  assert.equal((await intruder.open('/account/')).statusCode, 200)
  await service.app.inject({ method: 'POST', url: '/login/email', payload: { email } })
  const payload = { token: await service.mailbox.codeFor(email) }
  assert.equal((await service.app.inject({ method: 'POST', url: '/login/email/confirm', payload })).statusCode, 200)
  assert.equal(leadsTo(await intruder.open('/account/')), '/account/sign-in')
})

test('a reset ends no identity whose provider has verified the address, or that the owner of the account has connected', async (t) => {
  const service = await start(t)
  const person = somebody()
  const browser = createBrowser(service)
  await signIn(service, browser, person)
  await signIn({ provider: service.other }, browser, somebody({ sub: 'corp-1', email_verified: false }), '/login/with/corp?connect=true')
  assert.equal(leadsTo(await browser.send('/account/connect/confirm')), '/account/security')
  const mia = await member(service)
  const other = createBrowser(service)
  await signIn(service, other, somebody({ sub: 'mia', email: mia.email, email_verified: false }))
  await other.send('/account/sign-in', { email: mia.email, password: mia.password })
  await other.send('/account/connect/confirm')
  const before = await service.db.all(IDENTITIES)
  assert.equal(before.length, 3)
  for (const email of [person.email ?? '', mia.email]) await resetByMail(service, email)
  assert.deepEqual(await service.db.all(IDENTITIES), before)
})

test('signing in by mail ends what was registered with an unverified address, and its sessions', async (t) => {
  const service = await start(t, { env: { EMAIL_SIGN_IN: 'true' } })
  const { intruder, person, email } = await intrude(service)
  assert.equal((await intruder.open('/account/')).statusCode, 200)
  const signInByMail = async () => {
    await service.app.inject({ method: 'POST', url: '/login/email', payload: { email } })
    const payload = { token: await service.mailbox.codeFor(email) }
    const response = await service.app.inject({ method: 'POST', url: '/login/email/confirm', payload })
    assert.equal(response.statusCode, 200, response.body)
    return { headers: { authorization: `Bearer ${response.json().token}` } }
  }
  const first = await signInByMail()
  assert.deepEqual(await service.db.all(IDENTITIES), [])
  assert.equal(leadsTo(await intruder.open('/account/')), '/account/sign-in')
  assert.equal(leadsTo(await signIn(service, createBrowser(service), person)), '/account/connect')
  // Nothing of the owner ends by the next one.
  await signInByMail()
  assert.equal((await caller(service, first)('GET', '/users/me')).statusCode, 200)
})

test('401: the banned owner of an identity is told so; somebody who claims the address of a banned account is not', async (t) => {
  const service = await start(t)
  const person = somebody()
  await signIn(service, createBrowser(service), person)
  const [user] = await users(service)
  await service.services.userAdministration.ban(OPERATOR, user?.id ?? 0)
  assert.equal((await signIn(service, createBrowser(service), person)).headers['x-error-code'], 'login_banned')
  const pages = new Set<string>()
  for (const verified of [true, false]) {
    const { id, email } = await member(service, { verified })
    await service.services.userAdministration.ban(OPERATOR, id)
    for (const email_verified of [true, false]) {
      const browser = createBrowser(service)
      assert.equal(leadsTo(await signIn(service, browser, somebody({ sub: 'other', email, email_verified }))), '/account/connect')
      pages.add(textOf(await browser.open('/account/connect')).replaceAll(email, ''))
    }
  }
  assert.equal(pages.size, 1, 'one and the same page')
  assert.equal((await service.db.all(IDENTITIES)).length, 1)
})

test('200: with a second factor, the provider is the first step', async (t) => {
  const service = await start(t)
  const [browser, person] = [createBrowser(service), somebody()]
  const mia = await member(service, { email: person.email ?? '' })
  const { code } = await turnOn(service, mia)
  await signIn(service, browser, person)
  const first = await browser.send('/account/sign-in', { email: mia.email, password: mia.password, next: '/account/connect/confirm' })
  const challengeOf = (body: string) => /name="challenge" value="([^"]+)"/.exec(body)?.[1] ?? assert.fail(body)
  const second = { challenge: challengeOf(first.body), code: code(), next: '/account/connect/confirm' }
  assert.equal(leadsTo(await browser.send('/account/sign-in/second-step', second)), '/account/connect/confirm')
  assert.equal(leadsTo(await browser.send('/account/connect/confirm')), '/account/security')
  service.clock.advance({ seconds: 30 })
  const again = createBrowser(service)
  const response = await signIn(service, again, person, `${START}?next=/account/keys`)
  assert.equal(response.statusCode, 200)
  assert.match(textOf(response), /Enter your code/)
  assert.equal(again.isSignedIn(), false)
  const next = /name="next" value="([^"]+)"/.exec(response.body)?.[1] ?? ''
  const answer = { challenge: challengeOf(response.body), code: code(), next }
  assert.equal(leadsTo(await again.send('/account/sign-in/second-step', answer)), '/account/keys')
  const sessions = (await caller(service, mia)('GET', '/users/me/sessions')).json() as { method: string; second_factor: boolean }[]
  assert.ok(sessions.some(({ method, second_factor }) => method === 'acme' && second_factor))
})

test('two providers that name one address do not share an account until its owner connects both', async (t) => {
  const service = await start(t)
  const [browser, person] = [createBrowser(service), somebody()]
  await signIn(service, browser, person)
  const there = { provider: service.other }
  assert.equal(leadsTo(await signIn(there, browser, { ...person, sub: 'corp-1' }, '/login/with/corp')), '/account/connect')
  // The browser is signed in to that account already.
  assert.equal(leadsTo(await browser.send('/account/connect/confirm')), '/account/security')
  const rows = await service.db.all(IDENTITIES)
  assert.deepEqual(
    rows.map(({ provider, subject }) => [provider, subject]),
    [
      ['acme', 'acme-7'],
      ['corp', 'corp-1'],
    ],
  )
  // The same subject of another issuer is somebody else.
  const stranger = createBrowser(service)
  assert.equal(leadsTo(await signIn(there, stranger, somebody({ sub: 'acme-7' }), '/login/with/corp')), '/account/')
  assert.equal((await users(service)).length, 2)
})

test('400: an identity without an address, whatever the provider says about it', async (t) => {
  const service = await start(t)
  for (const email of [undefined, '', 'nobody', 'a@b', 'x'.repeat(300)]) {
    const { email: _, ...person } = somebody()
    const response = await signIn(service, createBrowser(service), email === undefined ? person : { ...person, email })
    assert.equal(response.headers['x-error-code'], 'provider_without_email', String(email))
  }
  assert.deepEqual(await users(service), [])
})

test('400: a way back that another browser began, that was used, or that is too old signs nobody in', async (t) => {
  const service = await start(t)
  const [victim, intruder] = [createBrowser(service), createBrowser(service)]
  const person = somebody()
  const back = service.provider.authorize(leadsTo(await intruder.open(START)), person)
  // Another browser has no cookie, or one of a sign-in of its own.
  assert.equal((await victim.open(back)).headers['x-error-code'], 'sign_in_ended')
  await victim.open(START)
  assert.equal((await victim.open(back)).headers['x-error-code'], 'sign_in_ended')
  assert.equal(victim.isSignedIn(), false)
  // The state, and the provider, have to be those of the cookie.
  const changed = new URL(back)
  changed.searchParams.set('state', 'x'.repeat(43))
  const cookies = new Map(intruder.jar)
  const restore = () => cookies.forEach((value, name) => void intruder.jar.set(name, value))
  assert.equal((await intruder.open(changed.href)).headers['x-error-code'], 'sign_in_ended')
  restore()
  assert.equal((await intruder.open(back.replace('/acme/', '/corp/'))).headers['x-error-code'], 'sign_in_ended')
  restore()
  // It works once, in any process.
  const other = await secondApp(t, service)
  assert.equal(leadsTo(await intruder.open(back, other)), '/account/')
  restore()
  const replayed = await intruder.open(back)
  assert.equal(replayed.headers['x-error-code'], 'sign_in_ended')
  assert.match(textOf(replayed), /This sign-in has ended.*Start again/)
  const late = createBrowser(service)
  const url = service.provider.authorize(leadsTo(await late.open(START)), person)
  service.clock.advance({ minutes: 15 })
  assert.equal((await late.open(url)).headers['x-error-code'], 'sign_in_ended')
  assert.equal((await users(service)).length, 1)
})

test('one of many uses of one way back signs in, in two processes', async (t) => {
  const service = await start(t)
  const browser = createBrowser(service)
  const other = await secondApp(t, service)
  const back = service.provider.authorize(leadsTo(await browser.open(START)), somebody())
  const cookie = [...browser.jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const url = back.slice(back.indexOf('/login'))
  const uses = await Promise.all(
    [service.app, other, service.app, other].map((app) => app.inject({ url, headers: { cookie, accept: 'text/html' } })),
  )
  assert.deepEqual(uses.map(({ statusCode }) => statusCode).toSorted(), [303, 400, 400, 400])
  assert.equal((await users(service)).length, 1)
})

test('two sign-ins of one new identity at the same time make one account', async (t) => {
  const service = await start(t)
  const person = somebody()
  const browsers = [1, 2, 3].map(() => createBrowser(service))
  const backs = await Promise.all(browsers.map(async (browser) => service.provider.authorize(leadsTo(await browser.open(START)), person)))
  const responses = await Promise.all(browsers.map((browser, index) => browser.open(backs[index] ?? '')))
  assert.deepEqual(responses.map(leadsTo), ['/account/', '/account/', '/account/'])
  assert.deepEqual([(await users(service)).length, (await service.db.all(IDENTITIES)).length], [1, 1])
})

test('a sign-in opens the account that another sign-in of the same person has created since it looked for the identity', async (t) => {
  const service = await start(t)
  const person = somebody()
  const [browser, other] = [createBrowser(service), createBrowser(service)]
  const backs = await Promise.all([browser, other].map(async (one) => service.provider.authorize(leadsTo(await one.open(START)), person)))
  const { first } = service.db
  let isFirst = true
  service.db.first = async (read, ...values) => {
    const found = await first(read, ...values)
    if (isFirst && read.sql.includes('from identities')) {
      isFirst = false
      await other.open(backs[1] ?? '')
    }
    return found
  }
  assert.equal(leadsTo(await browser.open(backs[0] ?? '')), '/account/')
  assert.deepEqual([isFirst, (await users(service)).length], [false, 1])
})

test('connecting under /account/security: the identity of another account is refused, and the last way in stays', async (t) => {
  const service = await start(t)
  const [browser, person] = [createBrowser(service), somebody()]
  await signIn(service, browser, person)
  const eve = await member(service)
  const evil = createBrowser(service)
  await evil.send('/account/sign-in', { email: eve.email, password: eve.password })
  const taken = await signIn(service, evil, person, `${START}?connect=true`)
  assert.equal(taken.headers['x-error-code'], 'provider_taken')
  assert.equal(leadsTo(await signIn(service, evil, somebody({ sub: 'eve' }), `${START}?connect=true`)), '/account/connect/confirm')
  assert.equal(leadsTo(await evil.send('/account/connect/confirm')), '/account/security')
  // Signed out meanwhile: nothing is connected.
  assert.equal(
    (await signIn(service, createBrowser(service), somebody({ sub: 'new' }), `${START}?connect=true`)).headers['x-error-code'],
    'sign_in_ended',
  )
  const only = await browser.send('/account/security/providers/acme/disconnect')
  assert.equal(only.headers['x-error-code'], 'only_way_in')
  assert.equal(leadsTo(await evil.send('/account/security/providers/acme/disconnect')), '/account/security')
  assert.equal((await service.db.all(IDENTITIES)).length, 1)
})

test('the API lists and disconnects, with a confirmed session only', async (t) => {
  const service = await start(t)
  const person = somebody()
  const mia = await member(service, { email: person.email ?? '' })
  const browser = createBrowser(service)
  await signIn(service, browser, person)
  await browser.send('/account/sign-in', { email: mia.email, password: mia.password })
  await browser.send('/account/connect/confirm')
  const call = caller(service, mia)
  const [listed] = (await call('GET', '/users/me/providers')).json()
  assert.deepEqual(listed, { provider: 'acme', email: person.email, connected_at: new Date(service.clock.now()).toISOString() })
  refused(await call('DELETE', '/users/me/providers/corp'), 404, 'Provider not found')
  service.clock.advance({ minutes: 10 })
  refused(await call('DELETE', '/users/me/providers/acme'), 403, 'Confirm that it is you')
  await call('POST', '/users/me/confirm', { password: mia.password })
  assert.equal((await call('DELETE', '/users/me/providers/acme')).statusCode, 204)
  assert.deepEqual((await call('GET', '/users/me/providers')).json(), [])
  const events = (await storedEvents(service.db)).filter(({ kind }) => kind.startsWith('provider.'))
  assert.deepEqual(
    events.map(({ kind, target, detail }) => [kind, target, detail]),
    [
      ['provider.connected', mia.id, '{"changed":["acme"]}'],
      ['provider.disconnected', mia.id, '{"changed":["acme"]}'],
    ],
  )
})

test('400: the only way to sign in stays, until there is a passkey, a password or sign-in by mail', async (t) => {
  const service = await start(t)
  await signIn(service, createBrowser(service), somebody())
  const [user] = await users(service)
  const by = await member(service)
  const tokens = await service.services.login.api.byProvider({ via: 'http' }, { ...(await proven(service)) })
  assert.ok(tokens.kind === 'session')
  const headers = { authorization: `Bearer ${tokens.session.token}` }
  const call = caller(service, { headers })
  refused(await call('DELETE', '/users/me/providers/acme'), 400, 'This is the only way to sign in')
  assert.equal((await call('POST', '/users/me/password', { password: PASSWORD })).statusCode, 204)
  assert.equal((await call('DELETE', '/users/me/providers/acme')).statusCode, 204)
  assert.ok(user && by)
})

test('400: a provider that has another issuer now is no way to sign in', async (t) => {
  const service = await start(t)
  const browser = createBrowser(service)
  await signIn(service, browser, somebody())
  const [user] = await users(service)
  await service.db.run(CONNECT, 'https://former.example', user?.id ?? 0)
  const only = await browser.send('/account/security/providers/acme/disconnect')
  assert.equal(only.headers['x-error-code'], 'only_way_in')
  service.clock.advance({ minutes: 11 })
  const asked = await browser.send('/account/security/codes')
  assert.deepEqual([asked.body.includes('/login/with/acme'), asked.body.includes('/login/with/corp')], [true, false])
  await signIn(service, browser, somebody())
  assert.equal(leadsTo(await browser.send('/account/security/providers/corp/disconnect')), '/account/security')
  // With the issuer of the settings, it is one.
  await service.db.run(CONNECT, service.other.url, user?.id ?? 0)
  assert.equal(leadsTo(await browser.send('/account/security/providers/acme/disconnect')), '/account/security')
})

async function proven({ provider, db }: Setting) {
  const [identity] = await db.all(IDENTITIES)
  return {
    provider: 'acme',
    issuer: provider.url,
    subject: identity?.subject ?? '',
    email: identity?.email,
    isEmailVerified: true,
    firstName: 'Mia',
    lastName: 'Muster',
  }
}

test('303: the parameters of a product lead to it, after a second step too, and no address of another site is opened', async (t) => {
  const service = await start(t, { env: WITH_PRODUCT })
  const person = somebody()
  const first = createBrowser(service)
  const begun = beginSignIn(`${PRODUCT}/in`)
  const handOff = leadsTo(await signIn(service, first, person, `${START}?${begun.query}`))
  const code = arrived(await first.open(handOff), begun.state, `${PRODUCT}/in`)
  const payload = { code, code_verifier: begun.verifier }
  const exchanged = await service.app.inject({ method: 'POST', url: '/login/exchange', payload })
  assert.equal(exchanged.statusCode, 200, exchanged.body)
  const mia = { headers: { authorization: `Bearer ${exchanged.json().token}` } }
  const [{ method }] = (await caller(service, mia)('GET', '/users/me/sessions')).json()
  assert.equal(method, 'acme')
  const codes = await turnOn(service, mia)
  service.clock.advance({ seconds: 30 })
  const second = createBrowser(service)
  const again = beginSignIn()
  const step = await signIn(service, second, person, `${START}?${again.query}`)
  assert.match(textOf(step), /Enter your code/)
  assert.match(String(step.headers['content-security-policy']), /form-action 'self' https:\/\/app\.example\.com;/)
  const answer = leadsTo(await second.send('/account/sign-in/second-step', { ...hiddenFields(step), code: codes.code() }))
  arrived(await second.open(answer), again.state)
  for (const next of ['https://evil.example', '//evil.example', '/\\evil.example', '/users/me'])
    assert.equal(
      leadsTo(await signIn(service, createBrowser(service), somebody({ sub: next }), `${START}?next=${encodeURIComponent(next)}`)),
      '/account/',
    )
})

test('303: the buttons of the sign-in and the register page lead to the product, however long its address is', async (t) => {
  const service = await start(t, { env: WITH_PRODUCT })
  for (const [page, path] of [
    ['sign-in', '/in'],
    ['register', `/${'a/'.repeat(450)}`],
    ['sign-in', `/in?q=${'%2F'.repeat(300)}`],
    ['sign-in', `/${'/'.repeat(950)}`],
  ] as const) {
    const browser = createBrowser(service)
    const begun = beginSignIn(PRODUCT + path)
    const shown = await browser.open(`/account/${page}?${begun.query}`)
    const link = /href="(\/login\/with\/acme[^"]*)"/.exec(shown.body)?.[1]?.replaceAll('&amp;', '&') ?? assert.fail('no link')
    const started = await browser.open(link)
    for (const cookie of [started.headers['set-cookie'] ?? []].flat()) assert.ok((cookie.split(';')[0]?.length ?? 0) < 4096, path)
    const back = await browser.open(service.provider.authorize(leadsTo(started), somebody({ sub: path.slice(0, 20) + page })))
    arrived(await browser.open(leadsTo(back)), begun.state, `${PRODUCT}${path.split('?')[0]}`)
    assert.equal(browser.jar.has('latchkey-next'), false)
  }
})

test('303: somebody who has to verify an address or to connect an account first arrives at the product afterwards', async (t) => {
  const service = await start(t, { env: WITH_PRODUCT })
  const person = somebody({ email_verified: false })
  const browser = createBrowser(service)
  const begun = beginSignIn()
  const sent = await signIn(service, browser, person, `${START}?${begun.query}`)
  assert.match(sent.body, /href="\/account\/sign-in\?next=%2Faccount%2Fhand-off/)
  assert.equal((await service.app.inject(verify(await service.mailbox.codeFor(person.email ?? '')))).statusCode, 200)
  const form = await browser.open('/account/sign-in')
  const link = /href="(\/login\/with\/acme[^"]*)"/.exec(form.body)?.[1]?.replaceAll('&amp;', '&') ?? assert.fail('no link')
  arrived(await browser.open(leadsTo(await signIn(service, browser, person, link))), begun.state)

  const mia = await member(service)
  const other = createBrowser(service)
  const later = beginSignIn()
  assert.equal(
    leadsTo(await signIn(service, other, somebody({ sub: 'mia', email: mia.email }), `${START}?${later.query}`)),
    '/account/connect',
  )
  await other.send('/account/sign-in', { email: mia.email, password: mia.password, next: '/account/connect/confirm' })
  const page = await other.open('/account/connect/confirm')
  assert.match(String(page.headers['content-security-policy']), /form-action 'self' https:\/\/app\.example\.com;/)
  arrived(await other.open(leadsTo(await other.send('/account/connect/confirm'))), later.state)

  // A product that was left earlier does not take over what is connected under /account/security.
  const eve = await member(service)
  const late = createBrowser(service)
  await late.send('/account/sign-in', { email: eve.email, password: eve.password })
  late.jar.set('latchkey-next', `/account/hand-off?${later.query}`)
  await signIn(service, late, somebody({ sub: 'eve' }), `${START}?connect=true`)
  assert.equal(leadsTo(await late.send('/account/connect/confirm')), '/account/security')
})

test('422: parameters of a product that are not right lead nowhere, neither to the provider nor to another site', async (t) => {
  const service = await start(t, { env: WITH_PRODUCT })
  const { query } = beginSignIn()
  const without = (name: string) => {
    const left = new URLSearchParams(query)
    left.delete(name)
    return String(left)
  }
  const wrong = [
    without('return_to'),
    without('code_challenge'),
    String(new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(query)), return_to: 'https://evil.example/' })),
    query.replace(/code_challenge=[^&]*/, 'code_challenge=short'),
    query.replace(/state=[^&]*/, 'state=%0a'),
  ]
  for (const one of wrong) {
    const browser = createBrowser(service)
    const response = await browser.open(`${START}?${one}`)
    assert.deepEqual([response.statusCode, response.headers.location, browser.jar.size], [422, undefined, 0], one)
    assert.match(textOf(response), /This cannot be processed.*The link that has led you here is not valid/, one)
    assert.ok(!response.body.includes('evil'))
    assert.equal((await service.app.inject({ url: `${START}?${one}` })).json().detail[0].loc[0], 'query')
  }
  assert.deepEqual(service.provider.requests, [])
})

test('an account without a password confirms by signing in again, and the page says so', async (t) => {
  const service = await start(t)
  const [browser, person] = [createBrowser(service), somebody()]
  await signIn(service, browser, person)
  service.clock.advance({ minutes: 11 })
  const asked = await browser.send('/account/security/codes')
  assert.equal(asked.statusCode, 403)
  assert.match(textOf(asked), /your account has no password\. Sign in again to set up codes from an app.*Continue with Acme/)
  assert.ok(!asked.body.includes('type="password"'))
  const link = /href="(\/login\/with\/acme[^"]*)"/.exec(asked.body)?.[1]?.replaceAll('&amp;', '&') ?? assert.fail('no link')
  assert.equal(leadsTo(await signIn(service, browser, person, link)), '/account/security')
  assert.match(textOf(await browser.send('/account/security/codes')), /Set up codes from an app/)
  assert.match(textOf(await browser.open('/account/password')), /Your account has no password/)
})

test('404: a provider that the settings do not name, and every provider without the setting', async (t) => {
  const service = await start(t)
  const unknown = await service.app.inject({ url: '/login/with/google' })
  refused(unknown, 404, 'Provider not found')
  const without = await startApp(t)
  assert.equal((await without.app.inject({ url: START })).statusCode, 404)
  assert.equal((await without.app.inject({ url: `${START}/callback` })).statusCode, 404)
  assert.ok(!(await without.app.inject({ url: '/account/sign-in', headers: { accept: 'text/html' } })).body.includes('login/with'))
})

test('303: a step that succeeds has given its place back before the browser can take the next one', async (t) => {
  const service = await start(t, { env: { RATE_LIMITS: 'login:ip=1/h' } })
  const person = somebody()
  for (let round = 0; round < 5; round++) assert.equal(leadsTo(await signIn(service, createBrowser(service), person)), '/account/')
})

test('429: a new account counts as a registration, and signing in to it does not', async (t) => {
  const service = await start(t, { env: { RATE_LIMITS: 'register:ip=1/h' } })
  const person = somebody()
  for (let round = 0; round < 2; round++) assert.equal(leadsTo(await signIn(service, createBrowser(service), person)), '/account/')
  const response = await signIn(service, createBrowser(service), somebody({ sub: 'another', email_verified: false }))
  assert.equal(response.statusCode, 429)
  assert.match(String(response.headers['retry-after']), /^\d+$/)
  assert.deepEqual([(await users(service)).length, await service.mailbox.messages()], [1, []])
})

test('429: claims that the provider has not verified count as registrations, whether or not the address has an account', async (t) => {
  const claim = (service: Setting, email: string, email_verified = false) =>
    signIn(service, createBrowser(service), somebody({ sub: email, email, email_verified }))
  for (const isTaken of [true, false]) {
    const service = await start(t, { env: { RATE_LIMITS: 'register:ip=2/h' } })
    const [mia, ada, eve] = [await member(service), await member(service), await member(service)]
    const addresses = [mia, ada, eve].map(({ email }) => (isTaken ? email : newEmail()))
    const statuses: number[] = []
    for (const email of addresses) statuses.push((await claim(service, email)).statusCode)
    assert.deepEqual(statuses, isTaken ? [303, 303, 429] : [200, 200, 429])
    // The owner of an address can always connect their account.
    assert.equal(leadsTo(await claim(service, mia.email, true)), '/account/connect')
  }
})

test('429: refused answers of a provider count for the address, and whoever signs in does not', async (t) => {
  const service = await start(t, { env: { RATE_LIMITS: 'login:ip=3/h' } })
  const person = somebody()
  for (let round = 0; round < 5; round++) assert.equal(leadsTo(await signIn(service, createBrowser(service), person)), '/account/')
  const browser = createBrowser(service)
  const back = service.provider.authorize(leadsTo(await browser.open(START)), person)
  const cookies = new Map(browser.jar)
  const attacker = createBrowser(service)
  for (let round = 0; round < 3; round++) {
    service.provider.lie({})
    const url = service.provider.authorize(leadsTo(await attacker.open(START)), person)
    service.provider.lie({ claims: { nonce: 'another' } })
    assert.equal((await attacker.open(url)).headers['x-error-code'], 'provider_refused')
  }
  service.provider.lie({})
  for (const limited of [await attacker.open(START), await browser.open(back)]) {
    assert.equal(limited.statusCode, 429)
    assert.match(String(limited.headers['retry-after']), /^\d+$/)
    assert.match(textOf(limited), /Too many attempts\. Try again in/)
  }
  assert.equal(browser.isSignedIn(), false)
  refused(await service.app.inject(login({ email: newEmail(), password: PASSWORD })), 429, 'Too many requests')
  assert.deepEqual(browser.jar, cookies, 'what has begun can be completed later')
})
