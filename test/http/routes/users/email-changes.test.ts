import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { findUserById } from '../../../../src/storage/repositories/users/user.repository.ts'
import { type Actor, admin, emailChangeCode, keyHolder, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { confirmEmail, login, newEmail, register, resetPassword } from '../../../support/http/requests.ts'

const ON = { env: { CONFIRM_EMAIL_CHANGES: 'true' } }
const TAKEN = 'A User with this email already exists'
const INVALID = 'That token is Invalid'
const COUNT_REQUESTS = statement<{ count: number }>('select count(*) as count from email_changes')
const COUNT_OUTBOX = statement<{ count: number }>('select count(*) as count from outbox')
const BAN = statement('update users set banned = true where id = $1')
const DELETE_USER = statement('delete from users where id = $1')

function edit({ app }: TestApp, { headers }: Pick<Actor, 'headers'>, id: number, payload: object) {
  return app.inject({ method: 'PUT', url: `/users/${id}`, headers, payload })
}

async function emailOf({ db }: TestApp, { id }: Pick<Actor, 'id'>): Promise<string | undefined> {
  return (await findUserById(db, id))?.email
}

test('200: an edit changes the other fields and mails a link to the new address, which changes it once', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const email = `New-${newEmail()}`
  const edited = await edit(service, mia, mia.id, { email, first_name: 'Maria' })
  const body = { email: mia.email, first_name: 'Maria', last_name: 'Muster' }
  assert.deepEqual({ status: edited.statusCode, body: edited.json() }, { status: 200, body })
  assert.equal(await emailOf(service, mia), mia.email)
  assert.deepEqual(
    (await service.mailbox.messages()).map(({ to }) => to),
    [email],
  )
  const code = await service.mailbox.codeFor(email)
  const confirmed = await service.app.inject(confirmEmail(code))
  assert.deepEqual(
    { status: confirmed.statusCode, body: confirmed.json() },
    { status: 200, body: { detail: 'Email successfully changed' } },
  )
  assert.equal(await emailOf(service, mia), email)
  refused(await service.app.inject(confirmEmail(code)), 401, INVALID)
  assert.equal((await service.app.inject(login({ email }))).statusCode, 200)
  refused(await service.app.inject(login({ email: mia.email })), 400, 'Wrong email or password')
  assert.equal((await service.app.inject({ url: '/users/me', headers: mia.headers })).json().email, email)
  assert.equal((await service.mailbox.messages()).length, 1)
})

test('200: without the setting an edit changes the address at once and mails nothing', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const email = newEmail()
  assert.equal((await edit(service, mia, mia.id, { email })).json().email, email)
  assert.deepEqual(await service.mailbox.messages(), [])
  assert.equal((await service.db.first(COUNT_REQUESTS))?.count, 0)
})

test('200: the present address, and an edit without an address, mail nothing', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const response = await edit(service, mia, mia.id, { email: ` ${mia.email} `, last_name: 'Müller' })
  assert.deepEqual(response.json(), { email: mia.email, first_name: 'Mia', last_name: 'Müller' })
  assert.equal((await edit(service, mia, mia.id, { first_name: 'M' })).statusCode, 200)
  assert.equal((await service.db.first(COUNT_REQUESTS))?.count, 0)
  assert.equal((await service.db.first(COUNT_OUTBOX))?.count, 0)
})

test('200: a new spelling of the same address is confirmed too', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service, { email: 'mia@example.com' })
  assert.equal((await edit(service, mia, mia.id, { email: 'Mia@example.com' })).json().email, 'mia@example.com')
  assert.equal((await service.app.inject(confirmEmail(await service.mailbox.codeFor('Mia@example.com')))).statusCode, 200)
  assert.equal(await emailOf(service, mia), 'Mia@example.com')
})

test('200: an admin and an API key ask for a new address like its owner', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  for (const editor of [await admin(service), await keyHolder(service, mia)]) {
    const email = newEmail()
    const before = await emailOf(service, mia)
    assert.equal((await edit(service, editor, mia.id, { email })).json().email, before)
    assert.equal((await service.app.inject(confirmEmail(await service.mailbox.codeFor(email)))).statusCode, 200)
    assert.equal(await emailOf(service, mia), email)
  }
})

test('200: a confirmed address is verified', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service, { verified: false })
  const email = newEmail()
  assert.equal((await service.app.inject(confirmEmail(await emailChangeCode(service, mia, email)))).statusCode, 200)
  assert.equal((await service.app.inject(login({ email }))).statusCode, 200)
})

test('400: an address of another account is refused in any case, and nothing changes', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const other = await member(service)
  const before = await findUserById(service.db, mia.id)
  refused(
    await edit(service, mia, mia.id, { email: other.email.toUpperCase(), first_name: 'Maria', password: 'a new password' }),
    400,
    TAKEN,
  )
  assert.deepEqual(await findUserById(service.db, mia.id), before)
  assert.deepEqual(await service.mailbox.messages(), [])
})

test('400: an address that was taken after the request is refused, with a page for browsers, until it is free again', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const email = newEmail()
  await edit(service, mia, mia.id, { email })
  const code = await service.mailbox.codeFor(email)
  await service.app.inject(register({ email: email.toUpperCase() }))
  refused(await service.app.inject(confirmEmail(code)), 400, TAKEN)
  const page = await service.app.inject({ ...confirmEmail(code), headers: { accept: 'text/html' } })
  assert.equal(page.statusCode, 400)
  assert.match(page.body, /<h1>This address is taken<\/h1>/)
  assert.equal(await emailOf(service, mia), mia.email)
  const { id } = await service.services.userAdministration.findByEmail(email)
  await service.services.userAdministration.remove(OPERATOR, id)
  assert.equal((await service.app.inject(confirmEmail(code))).statusCode, 200)
})

test('401: a newer request ends the link of an earlier one, also for the same address', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const [mistyped, right] = [newEmail(), newEmail()]
  const codes: string[] = []
  for (const email of [mistyped, right, right]) {
    await edit(service, mia, mia.id, { email })
    codes.push(await service.mailbox.codeFor(email))
  }
  for (const code of codes.slice(0, 2)) refused(await service.app.inject(confirmEmail(code)), 401, INVALID)
  assert.equal(await emailOf(service, mia), mia.email)
  assert.equal((await service.app.inject(confirmEmail(codes[2] ?? ''))).statusCode, 200)
  assert.equal(await emailOf(service, mia), right)
})

test('401: a request that was replaced before its mail was sent mails only the newer address', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const [mistyped, right] = [newEmail(), newEmail()]
  for (const email of [mistyped, right]) await edit(service, mia, mia.id, { email })
  assert.deepEqual(
    (await service.mailbox.messages()).map(({ to }) => to),
    [right],
  )
})

/** What ends a request for a new address. */
const ENDINGS: Readonly<Record<string, (service: TestApp, mia: Actor) => Promise<unknown>>> = {
  'a password change': (service, mia) => service.services.users.changePassword(OPERATOR, mia.id, 'a new password'),
  'a password reset': (service, mia) =>
    service.app.inject(resetPassword({ code: service.services.tokens.forMail('reset', mia.id, mia.resetVersion) })),
  'a ban that was lifted': async ({ services }, mia) => {
    await services.userAdministration.ban(OPERATOR, mia.id)
    await services.userAdministration.unban(OPERATOR, mia.id)
  },
  'a direct change of the address': (service, mia) => service.services.users.edit(OPERATOR, mia.id, { email: newEmail() }),
}

for (const [ending, end] of Object.entries(ENDINGS)) {
  test(`401: ${ending} ends a request for a new address, before and after its mail was sent`, async (t) => {
    const service = await startApp(t, ON)
    const [before, after] = [await member(service), await member(service)]
    const [unsent, sent] = [newEmail(), newEmail()]
    await edit(service, after, after.id, { email: sent })
    const code = await service.mailbox.codeFor(sent)
    await edit(service, before, before.id, { email: unsent })
    for (const mia of [before, after]) await end(service, mia)
    const emails = await Promise.all([emailOf(service, before), emailOf(service, after)])
    assert.equal(await service.mailbox.countFor(unsent), 0)
    refused(await service.app.inject(confirmEmail(code)), 401, INVALID)
    assert.deepEqual(await Promise.all([emailOf(service, before), emailOf(service, after)]), emails)
    assert.equal((await service.db.first(COUNT_OUTBOX))?.count, 0)
  })
}

test('401: a banned account cannot confirm; 404: neither can a deleted one', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const code = await emailChangeCode(service, mia)
  await service.db.run(BAN, mia.id)
  refused(await service.app.inject(confirmEmail(code)), 401, INVALID)
  await service.db.run(DELETE_USER, mia.id)
  refused(await service.app.inject(confirmEmail(code)), 404, 'User not Found')
  assert.equal((await service.db.first(COUNT_REQUESTS))?.count, 0)
})

test('401: a link expires after 24 hours', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const code = await emailChangeCode(service, mia)
  service.clock.advance({ hours: 24 })
  refused(await service.app.inject(confirmEmail(code)), 401, 'That token has Expired')
  assert.equal(await emailOf(service, mia), mia.email)
})

test('405: HEAD does not use a link', async (t) => {
  const service = await startApp(t, ON)
  const code = await emailChangeCode(service, await member(service))
  const response = await service.app.inject({ method: 'HEAD', url: `/confirm-email/?code=${code}` })
  assert.deepEqual([response.statusCode, response.headers.allow], [405, 'GET'])
  assert.equal((await service.app.inject(confirmEmail(code))).statusCode, 200)
})

test('422: a missing or repeated code; 401: an empty one', async (t) => {
  const { app } = await startApp(t)
  invalid(await app.inject('/confirm-email/'), { loc: ['query', 'code'], type: 'missing' })
  invalid(await app.inject('/confirm-email/?code=a.b.c&code=a.b.c'), { loc: ['query', 'code'], type: 'value_error' })
  refused(await app.inject('/confirm-email/?code='), 401, INVALID)
})

test('200, 401, 404, 422: a browser gets a page that says what happened, and what to do next', async (t) => {
  const service = await startApp(t, { env: { ...ON.env, FRONTEND_URL: 'https://app.example.com' } })
  const mia = await member(service)
  const code = await emailChangeCode(service, mia)
  const expired = await emailChangeCode(service, await member(service))
  const open = (given: string) => service.app.inject({ ...confirmEmail(given), headers: { accept: 'text/html' } })
  const pages = [
    [code, 200, 'Your new address is confirmed'],
    [code, 401, 'Your new address is already confirmed'],
    ['a.b.c', 401, 'This link does not work'],
    ['\n', 422, 'This link does not work'],
    [service.services.tokens.forMail('email_change', 4711, 1), 404, 'This account no longer exists'],
  ] as const
  for (const [given, status, title] of pages) {
    const { statusCode, body } = await open(given)
    assert.equal(statusCode, status, title)
    assert.ok(body.includes(`<h1>${title}</h1>`), body)
    assert.ok(body.includes('href="https://app.example.com">Continue to Latchkey</a>') && !body.includes(code))
  }
  service.clock.advance({ days: 1 })
  assert.match((await open(expired)).body, /<h1>This link has expired<\/h1>/)
})

test('401: a link that was used says so no longer once the account has another address', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const code = await emailChangeCode(service, mia)
  assert.equal((await service.app.inject(confirmEmail(code))).statusCode, 200)
  await service.services.users.edit(OPERATOR, mia.id, { email: newEmail() })
  const { body } = await service.app.inject({ ...confirmEmail(code), headers: { accept: 'text/html' } })
  assert.match(body, /<h1>This link does not work<\/h1>/)
})

test('429: the mails to one new address are limited, and so are those from one network', async (t) => {
  const service = await startApp(t, { env: { ...ON.env, RATE_LIMITS: 'mail:account=2/h,mail:ip=4/h' } })
  const victim = newEmail()
  const statuses: number[] = []
  for (const email of [victim, victim, victim, newEmail(), newEmail(), newEmail()]) {
    const mia = await member(service)
    const before = await findUserById(service.db, mia.id)
    const response = await edit(service, mia, mia.id, { email, first_name: 'Maria' })
    statuses.push(response.statusCode)
    if (response.statusCode === 429) assert.deepEqual(await findUserById(service.db, mia.id), before)
  }
  assert.deepEqual(statuses, [200, 200, 429, 200, 200, 429])
  assert.equal(await service.mailbox.countFor(victim), 2)
  const mia = await member(service)
  assert.equal((await edit(service, mia, mia.id, { email: mia.email, first_name: 'Maria' })).statusCode, 200)
})
