import assert from 'node:assert/strict'
import { type Actor, admin, keyHolder, member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { storedEvents } from '../../../support/app/audit.ts'
import { createAuthenticator } from '../../../support/app/authenticator.ts'
import { secondApp, startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { sessionCookie, submit, textOf, visit } from '../../../support/http/pages.ts'
import { login, newEmail, PASSWORD } from '../../../support/http/requests.ts'

const PATH = '/users/invitations'
const PAGE = '/account/invitation'

const call = ({ app }: TestApp, { headers }: Pick<Actor, 'headers'>, method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object) =>
  app.inject({ method, url, headers, ...(payload && { payload }) })

async function invite(service: TestApp, boss: Actor, fields: object = {}) {
  const payload = { email: newEmail(), first_name: 'Ida', last_name: 'Invited', ...fields }
  const response = await call(service, boss, 'POST', PATH, payload)
  assert.equal(response.statusCode, 201, response.body)
  return response.json()
}

const accept = ({ app }: Pick<TestApp, 'app'>, code: string, password = PASSWORD) => app.inject(submit(PAGE, { code, password }))

test('201: an invitation is mailed, and its link creates a verified account and signs in', async (t) => {
  const service = await startApp(t)
  const { app, clock, mailbox, db } = service
  const boss = await admin(service)
  const created = await invite(service, boss, { email: 'Ida@Example.com' })
  const { id: _, ...view } = created
  assert.deepEqual(view, {
    email: 'Ida@example.com',
    first_name: 'Ida',
    last_name: 'Invited',
    role: 'user',
    created_at: new Date(clock.now()).toISOString(),
    expires_at: new Date(clock.now() + 7 * 24 * 60 * 60_000).toISOString(),
  })
  const [mail] = await mailbox.messages()
  assert.equal(mail?.subject, 'Your invitation for Latchkey')
  assert.match(mail?.text ?? '', /Hello Ida,[\s\S]*within 7 days/)
  // There is no account until the invitation is accepted.
  refused(await app.inject(login({ email: 'ida@example.com', password: PASSWORD })), 400, 'Wrong email or password')
  const code = await mailbox.codeFor('ida@example.com')
  const page = await app.inject(visit(`${PAGE}?code=${code}`))
  assert.equal(page.headers['referrer-policy'], 'strict-origin')
  assert.match(textOf(page), /Welcome, Ida\. Choose a password for your account Ida@example\.com/)
  const before = (await storedEvents(db)).length
  const accepted = await accept(service, code)
  assert.deepEqual([accepted.statusCode, accepted.headers.location], [303, '/account/'])
  assert.match(textOf(await app.inject(visit('/account/', sessionCookie(accepted)))), /Ida@example\.com/)
  assert.equal((await app.inject(login({ email: 'ida@example.com', password: PASSWORD }))).statusCode, 200)
  assert.deepEqual((await call(service, boss, 'GET', PATH)).json(), [])
  const kinds = (await storedEvents(db)).slice(before).map(({ kind }) => kind)
  assert.deepEqual(kinds, ['user.registered', 'session.created', 'session.created'])
  assert.equal((await accept(service, code)).statusCode, 404)
})

test('201: an invited admin is one, and the trail names the inviting admin and the new one', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const { email, role } = await invite(service, boss, { role: 'admin' })
  assert.equal(role, 'admin')
  assert.equal((await accept(service, await service.mailbox.codeFor(email))).statusCode, 303)
  const events = await storedEvents(service.db)
  const invited = events.find(({ kind }) => kind === 'invitation.created')
  assert.deepEqual([invited?.actor, invited?.detail], [boss.id, '{"changed":["role"]}'])
  const promoted = events.find(({ kind }) => kind === 'user.promoted')
  const users = (await call(service, boss, 'GET', '/users/')).json()
  assert.deepEqual(
    users
      .filter(({ id }: { id: number }) => id === promoted?.target)
      .map((user: Record<string, unknown>) => [user['email'], user['role'], user['verified']]),
    [[email, 'admin', true]],
  )
})

test('303: of fifty uses of one link at once, in two processes, one creates the account', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const { email } = await invite(service, boss)
  const code = await service.mailbox.codeFor(email)
  const other = { app: await secondApp(t, service) }
  // From many networks, because the pages limit the requests of one.
  const uses = Array.from({ length: 50 }, (_, n) =>
    (n % 2 === 0 ? service : other).app.inject({ ...submit(PAGE, { code, password: PASSWORD }), remoteAddress: `10.0.${n}.1` }),
  )
  const answers = await Promise.all(uses)
  const statuses = answers.map(({ statusCode }) => statusCode)
  assert.equal(statuses.filter((status) => status === 303).length, 1)
  assert.ok(
    statuses.every((status) => status === 303 || status === 404),
    String(statuses),
  )
  const created = (await storedEvents(service.db)).filter(({ kind }) => kind === 'session.created')
  assert.equal(created.length, 1)
})

test('200: a scanner that opens the link with GET and HEAD changes nothing', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const { email } = await invite(service, boss)
  const { pathname, search } = new URL(await service.mailbox.linkFor(email))
  const before = await storedEvents(service.db)
  for (const method of ['GET', 'HEAD', 'GET'] as const) {
    const opened = await service.app.inject({ ...visit(pathname + search), method })
    assert.deepEqual([opened.statusCode, opened.headers['set-cookie']], [200, undefined])
  }
  assert.deepEqual(await storedEvents(service.db), before)
  assert.equal((await accept(service, search.replace('?code=', ''))).statusCode, 303)
})

test('200: the list has the open ones, newest first, and another invitation of an address replaces the first', async (t) => {
  const service = await startApp(t)
  const { clock, mailbox } = service
  // Its access lasts longer than a session.
  const boss = await keyHolder(service, await admin(service))
  const emails = async () => (await call(service, boss, 'GET', PATH)).json().map(({ email }: { email: string }) => email)
  const first = await invite(service, boss)
  const oldCode = await mailbox.codeFor(first.email)
  clock.advance({ days: 1 })
  const second = await invite(service, boss)
  const code = await mailbox.codeFor(second.email)
  assert.deepEqual(await emails(), [second.email, first.email])
  clock.advance({ minutes: 1 })
  const again = await invite(service, boss, { email: first.email.toUpperCase(), first_name: 'Ina', role: 'admin' })
  assert.deepEqual((await call(service, boss, 'GET', PATH)).json(), [again, second])
  assert.equal((await accept(service, oldCode)).statusCode, 404)
  clock.advance({ days: 6 })
  assert.deepEqual(await emails(), [again.email, second.email])
  clock.advance({ days: 1 })
  assert.deepEqual(await emails(), [])
  assert.match(textOf(await service.app.inject(visit(`${PAGE}?code=${code}`))), /no longer open/)
  assert.equal((await accept(service, code)).statusCode, 404)
  refused(await call(service, boss, 'DELETE', `${PATH}/${second.id}`), 404, 'Invitation not found')
})

test('200: a list of any length is complete and in order', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const operator = { caller: 'operator', origin: { via: 'cli' } } as const
  for (let n = 0; n < 520; n++)
    await service.services.invitations.create(operator, { email: `ida-${n}@example.com`, firstName: 'Ida', lastName: 'Invited' }, 'user')
  const listed = (await call(service, boss, 'GET', PATH)).json().map(({ email }: { email: string }) => email)
  assert.deepEqual(
    listed,
    Array.from({ length: 520 }, (_, n) => `ida-${519 - n}@example.com`),
  )
})

test('204: a new link ends the one before it, and a withdrawn invitation has none', async (t) => {
  const service = await startApp(t)
  const { clock, mailbox } = service
  // Its access lasts longer than a session.
  const boss = await keyHolder(service, await admin(service))
  const { id, email } = await invite(service, boss)
  const first = await mailbox.codeFor(email)
  clock.advance({ days: 5 })
  assert.equal((await call(service, boss, 'POST', `${PATH}/${id}/resend`)).statusCode, 204)
  const second = await mailbox.codeFor(email)
  assert.notEqual(first, second)
  assert.equal((await accept(service, first)).statusCode, 404)
  clock.advance({ days: 5 })
  assert.match(textOf(await service.app.inject(visit(`${PAGE}?code=${second}`))), /Choose a password/)
  // A mail that was not sent yet is not sent any more.
  assert.equal((await call(service, boss, 'POST', `${PATH}/${id}/resend`)).statusCode, 204)
  const sent = await mailbox.countFor(email)
  assert.equal((await call(service, boss, 'POST', `${PATH}/${id}/resend`)).statusCode, 204)
  assert.equal((await call(service, boss, 'DELETE', `${PATH}/${id}`)).statusCode, 204)
  assert.equal(await mailbox.countFor(email), sent)
  assert.equal((await accept(service, await mailbox.codeFor(email))).statusCode, 404)
  for (const [method, url] of [
    ['DELETE', `${PATH}/${id}`],
    ['POST', `${PATH}/${id}/resend`],
  ] as const)
    refused(await call(service, boss, method, url), 404, 'Invitation not found')
  const kinds = (await storedEvents(service.db)).map(({ kind }) => kind)
  assert.equal(kinds.at(-1), 'invitation.withdrawn')
})

test('400: an address that has an account cannot be invited, and one that gets an account meanwhile cannot accept', async (t) => {
  const service = await startApp(t)
  const { mailbox, db } = service
  const boss = await admin(service)
  const mia = await member(service)
  const payload = { email: mia.email.toUpperCase(), first_name: 'Ida', last_name: 'Invited' }
  refused(await call(service, boss, 'POST', PATH, payload), 400, 'A User with this email already exists')
  assert.equal(await mailbox.countFor(mia.email), 0)
  const { email } = await invite(service, boss)
  const code = await mailbox.codeFor(email)
  await member(service, { email })
  const before = await storedEvents(db)
  const refusedPage = await accept(service, code, 'the password of a stranger')
  assert.equal(refusedPage.statusCode, 400)
  assert.match(textOf(refusedPage), /There is already an account with this email address/)
  assert.deepEqual(await storedEvents(db), before)
})

test('422: fields and passwords follow the rules of a registration, and a role is `user` or `admin`', async (t) => {
  const service = await startApp(t, { env: { PASSWORD_BLOCKLIST: 'common' } })
  const boss = await admin(service)
  const names = { first_name: 'Ida', last_name: 'Invited' }
  for (const payload of [{ email: newEmail() }, { ...names, email: 'ida' }, { ...names, email: newEmail(), role: 'owner' }])
    assert.equal((await call(service, boss, 'POST', PATH, payload)).statusCode, 422, JSON.stringify(payload))
  const { email } = await invite(service, boss)
  const code = await service.mailbox.codeFor(email)
  for (const [password, problem] of [
    ['short', /at least 8 characters/],
    ['password123', /list of breached passwords/],
  ] as const) {
    const answer = await accept(service, code, password)
    assert.equal(answer.statusCode, 422)
    assert.match(textOf(answer), problem)
  }
  assert.equal((await accept(service, code)).statusCode, 303)
})

test('404: no invitations without the account pages', async (t) => {
  const service = await startApp(t, { env: { ACCOUNT_PAGES_ENABLED: 'false' } })
  const boss = await admin(service)
  refused(await call(service, boss, 'GET', PATH), 404, 'Not Found')
})

const PASSKEY_PARTY = { origin: 'http://localhost:8000' }

/** Opens the page of an invitation and creates the passkey that it asks for. */
async function createPasskey({ app }: Pick<TestApp, 'app'>, code: string, authenticator = createAuthenticator(PASSKEY_PARTY)) {
  const page = await app.inject(visit(`${PAGE}?code=${code}`))
  const [, options = ''] = /data-create="([^"]+)"/.exec(page.body) ?? []
  return { authenticator, passkey: JSON.stringify(authenticator.create(JSON.parse(options.replaceAll('&quot;', '"')))) }
}

const acceptByPasskey = ({ app }: Pick<TestApp, 'app'>, code: string, passkey: string) =>
  app.inject(submit(`${PAGE}/passkey`, { code, passkey }))

test('303: a passkey instead of a password creates a verified account without a password, and signs in to it', async (t) => {
  const service = await startApp(t)
  const { app, db, mailbox, services } = service
  const { email } = await invite(service, await admin(service))
  const code = await mailbox.codeFor(email)
  const { authenticator, passkey } = await createPasskey(service, code)
  const before = (await storedEvents(db)).length
  const accepted = await acceptByPasskey(service, code, passkey)
  assert.deepEqual([accepted.statusCode, accepted.headers.location], [303, '/account/'], textOf(accepted))
  const kinds = (await storedEvents(db)).slice(before).map(({ kind }) => kind)
  assert.deepEqual(kinds, ['user.registered', 'passkey.added', 'session.created'])
  const caller = await services.authentication.byPageToken(sessionCookie(accepted).replace(/^[^=]*=/, ''))
  const { id, verified } = caller.user
  assert.deepEqual([verified, (await services.passkeys?.list(id))?.map(({ name }) => name)], [true, ['First passkey']])
  const [session] = await services.sessions.list(id)
  assert.deepEqual([session?.method, session?.secondFactor], ['passkey', true])
  refused(await app.inject(login({ email, password: PASSWORD })), 400, 'Wrong email or password')
  const options = (await app.inject({ method: 'POST', url: '/login/passkey/options' })).json()
  const credential = authenticator.get(options)
  assert.equal((await app.inject({ method: 'POST', url: '/login/passkey', payload: { credential } })).statusCode, 200)
  assert.equal((await acceptByPasskey(service, code, passkey)).statusCode, 404)
})

test('400: a passkey for another invitation, another site, another question or an old one creates no account', async (t) => {
  const service = await startApp(t)
  const { app, db, clock, mailbox } = service
  const boss = await admin(service)
  const code = await mailbox.codeFor((await invite(service, boss)).email)
  const otherCode = await mailbox.codeFor((await invite(service, boss)).email)
  const known = await createPasskey(service, otherCode)
  const oldPage = await createPasskey(service, code)
  clock.advance({ minutes: 6 })
  const question = (await app.inject({ method: 'POST', url: '/login/passkey/options' })).json()
  const toSignIn = createAuthenticator(PASSKEY_PARTY).create({ ...question, rp: { id: 'localhost' }, user: { id: 'MQ' } })
  const ofOther = await createPasskey(service, otherCode)
  const ofAnotherSite = await createPasskey(service, code, createAuthenticator({ origin: 'https://evil.example' }))
  const ofNobody = await createPasskey(service, code, createAuthenticator({ ...PASSKEY_PARTY, verifiesUser: false }))
  const before = await storedEvents(db)
  for (const [name, passkey] of Object.entries({
    'of another invitation': ofOther.passkey,
    'of another site': ofAnotherSite.passkey,
    'without a verified user': ofNobody.passkey,
    'for signing in': JSON.stringify(toSignIn),
    'six minutes old': oldPage.passkey,
    'no passkey': '{}',
    'no JSON': 'x',
  })) {
    const answer = await acceptByPasskey(service, code, passkey)
    assert.equal(answer.statusCode, 400, name)
    assert.match(textOf(answer), /This passkey was not accepted\. Welcome, Ida\./, name)
    assert.equal(answer.headers['set-cookie'], undefined, name)
  }
  assert.deepEqual(await storedEvents(db), before)
  // A device that has a passkey here already.
  const first = await createPasskey(service, otherCode, known.authenticator)
  assert.equal((await acceptByPasskey(service, otherCode, first.passkey)).statusCode, 303)
  const second = await createPasskey(service, code, known.authenticator)
  assert.equal((await acceptByPasskey(service, code, second.passkey)).statusCode, 400)
  // The invitation is still open.
  assert.equal((await accept(service, code)).statusCode, 303)
})

test('404: a link that has ended takes no passkey, and where browsers accept none the page offers none', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const { id, email } = await invite(service, boss)
  const code = await service.mailbox.codeFor(email)
  const { passkey } = await createPasskey(service, code)
  assert.equal((await call(service, boss, 'DELETE', `${PATH}/${id}`)).statusCode, 204)
  assert.equal((await acceptByPasskey(service, code, passkey)).statusCode, 404)
  const without = await startApp(t, { env: { BASE_URL: 'http://10.0.0.1:8000' } })
  const invited = await invite(without, await admin(without))
  const itsCode = await without.mailbox.codeFor(invited.email)
  assert.doesNotMatch((await without.app.inject(visit(`${PAGE}?code=${itsCode}`))).body, /passkey/)
  assert.equal((await acceptByPasskey(without, itsCode, passkey)).statusCode, 404)
  assert.equal((await accept(without, itsCode)).statusCode, 303)
})
