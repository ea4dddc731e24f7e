import assert from 'node:assert/strict'
import { createPasswords } from '../../../../src/security/password.ts'
import { findUserById } from '../../../../src/storage/repositories/users/user.repository.ts'
import { type Actor, admin, keyHolder, member, visitor } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'

type Sender = Pick<Actor, 'headers'>

function edit({ app }: TestApp, { headers }: Sender, id: number | string, payload: object) {
  return app.inject({ method: 'PUT', url: `/users/${id}`, headers, payload })
}

function changePassword({ app }: TestApp, { headers }: Sender, id: number | string, password: unknown) {
  return app.inject({ method: 'POST', url: `/users/${id}/password`, headers, payload: { password } })
}

function login({ app }: TestApp, email: string, password: string) {
  return app.inject({ method: 'POST', url: '/login/', payload: { email, password } })
}

async function statusOf({ app }: TestApp, { headers }: Sender): Promise<number> {
  return (await app.inject({ url: '/users/me', headers })).statusCode
}

/** The account in the database, including its password hash. */
async function stateOf({ db }: TestApp, { id }: Actor) {
  const state = await findUserById(db, id)
  assert.ok(state)
  return state
}

/** Opens a second session of the same user. */
async function secondSession(testApp: TestApp, actor: Actor): Promise<Sender> {
  const response = await login(testApp, actor.email, actor.password)
  return { headers: { authorization: `Bearer ${response.json<{ token: string }>().token}` } }
}

test('200: users get the basic view of their account, with a token or a key', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp, { email: 'Mia@example.com', firstName: 'Mía', lastName: 'Müller' })
  for (const { headers } of [mia, await keyHolder(testApp, mia)]) {
    for (const url of ['/users/me', '/users/me/', '/api/v1/users/me']) {
      const response = await testApp.app.inject({ url, headers })
      const body = { email: 'Mia@example.com', first_name: 'Mía', last_name: 'Müller' }
      assert.deepEqual({ status: response.statusCode, body: response.json() }, { status: 200, body })
    }
  }
})

test('401: a request without credentials is refused', async (t) => {
  const testApp = await startApp(t)
  const { id } = await member(testApp)
  const detail = 'Not authenticated. Use either JWT token or API key.'
  refused(await testApp.app.inject({ url: '/users/me' }), 401, detail)
  refused(await edit(testApp, visitor, id, { first_name: 'x' }), 401, detail)
  refused(await changePassword(testApp, visitor, id, 'another password'), 401, detail)
})

test('200: an edit changes only the given fields', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp, { email: 'mia@example.com' })
  const before = await stateOf(testApp, mia)
  const response = await edit(testApp, mia, mia.id, { first_name: '  Maria ' })
  const body = { email: 'mia@example.com', first_name: 'Maria', last_name: 'Muster' }
  assert.deepEqual({ status: response.statusCode, body: response.json() }, { status: 200, body })
  assert.deepEqual(await stateOf(testApp, mia), { ...before, firstName: 'Maria' })
})

test('200: an edit changes all four fields at once, and a new password ends the other sessions', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const other = await secondSession(testApp, mia)
  const changes = { email: ' New@EXAMPLE.com ', password: 'a new password', first_name: 'N', last_name: 'M' }
  const response = await edit(testApp, mia, mia.id, changes)
  const body = { email: 'New@example.com', first_name: 'N', last_name: 'M' }
  assert.deepEqual({ status: response.statusCode, body: response.json() }, { status: 200, body })
  assert.equal(await statusOf(testApp, mia), 200)
  assert.equal(await statusOf(testApp, other), 401)
  assert.equal((await login(testApp, 'new@example.com', 'a new password')).statusCode, 200)
  assert.equal((await login(testApp, 'new@example.com', mia.password)).statusCode, 400)
  assert.equal((await login(testApp, mia.email, 'a new password')).statusCode, 400)
})

test('200: an edit ignores fields that users cannot set', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const before = await stateOf(testApp, mia)
  const foreign = {
    role: 'admin',
    banned: true,
    verified: false,
    id: 4711,
    user_id: 4711,
    password_hash: 'x',
    email_version: 9,
    reset_version: 9,
    __proto__: { role: 'admin' },
    constructor: 'x',
  }
  const response = await edit(testApp, mia, mia.id, { last_name: 'Same', ...foreign })
  assert.equal(response.statusCode, 200)
  assert.deepEqual(await stateOf(testApp, mia), { ...before, lastName: 'Same' })
})

test('200: a new address keeps the account verified and invalidates tokens mailed to the old address', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const before = await stateOf(testApp, mia)
  const reset = testApp.services.tokens.forMail('reset', mia.id, before.resetVersion)
  assert.equal((await edit(testApp, mia, mia.id, { email: 'elsewhere@example.com' })).statusCode, 200)
  assert.deepEqual(await stateOf(testApp, mia), {
    ...before,
    email: 'elsewhere@example.com',
    emailVersion: before.emailVersion + 1,
    resetVersion: before.resetVersion + 1,
  })
  const payload = { code: reset, new_password: 'taken over!' }
  refused(await testApp.app.inject({ method: 'POST', url: '/reset-password/', payload }), 401, 'That token is Invalid')
})

test('200: an edit with the current address changes nothing and invalidates no token', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const before = await stateOf(testApp, mia)
  assert.equal((await edit(testApp, mia, mia.id, { email: mia.email })).statusCode, 200)
  assert.deepEqual(await stateOf(testApp, mia), before)
})

test('400: a user cannot take the address of another user, in any case', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const max = await member(testApp, { email: 'max@example.com' })
  const before = await stateOf(testApp, mia)
  for (const email of [max.email, 'MAX@Example.COM']) {
    const response = await edit(testApp, mia, mia.id, { email, password: 'a new password', first_name: 'X' })
    refused(response, 400, 'A User with this email already exists')
  }
  assert.deepEqual(await stateOf(testApp, mia), before)
  assert.equal(await statusOf(testApp, mia), 200)
})

test('400: exactly one of many parallel edits to one address succeeds', async (t) => {
  const testApp = await startApp(t)
  const people = await Promise.all(Array.from({ length: 8 }, () => member(testApp)))
  const responses = await Promise.all(people.map((person) => edit(testApp, person, person.id, { email: 'wanted@example.com' })))
  const statuses = responses.map(({ statusCode }) => statusCode).sort()
  assert.deepEqual(statuses, [200, ...Array<number>(7).fill(400)])
})

test('403: a user cannot edit another account, and the response does not reveal whether it exists', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const max = await member(testApp)
  const before = await stateOf(testApp, max)
  for (const sender of [mia, await keyHolder(testApp, mia)]) {
    for (const id of [max.id, 999_999, 'x', `${mia.id}.0`, `+${mia.id}`, `%20${mia.id}`, `${mia.id}%00`]) {
      refused(await edit(testApp, sender, id, { first_name: 5 }), 403, 'Not enough permissions')
      refused(await changePassword(testApp, sender, id, 'short'), 403, 'Not enough permissions')
    }
  }
  assert.deepEqual(await stateOf(testApp, max), before)
})

test('200, 204: an admin edits any account, and setting its password ends its sessions', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const boss = await admin(testApp)
  const edited = await edit(testApp, boss, mia.id, { first_name: 'Edited' })
  const body = { email: mia.email, first_name: 'Edited', last_name: 'Muster' }
  assert.deepEqual({ status: edited.statusCode, body: edited.json() }, { status: 200, body })
  assert.equal(await statusOf(testApp, mia), 200)

  const changed = await changePassword(testApp, boss, mia.id, 'set by an admin')
  assert.deepEqual({ status: changed.statusCode, body: changed.body }, { status: 204, body: '' })
  refused(await testApp.app.inject({ url: '/users/me', headers: mia.headers }), 401, 'That token is Invalid')
  assert.equal(await statusOf(testApp, boss), 200)
  assert.equal((await login(testApp, mia.email, 'set by an admin')).statusCode, 200)
})

test('204: a password change ends every other session and outstanding resets, and keeps API keys', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const bystander = await member(testApp)
  const other = await secondSession(testApp, mia)
  const holder = await keyHolder(testApp, mia)
  const before = await stateOf(testApp, mia)
  const response = await changePassword(testApp, mia, mia.id, 'a new password')
  assert.deepEqual({ status: response.statusCode, body: response.body }, { status: 204, body: '' })
  const statuses = await Promise.all([mia, other, holder, bystander].map((sender) => statusOf(testApp, sender)))
  assert.deepEqual(statuses, [200, 401, 200, 200])
  const { passwordHash, ...after } = await stateOf(testApp, mia)
  assert.notEqual(passwordHash, before.passwordHash)
  assert.deepEqual({ ...after, passwordHash: before.passwordHash }, { ...before, resetVersion: before.resetVersion + 1 })
  assert.equal((await login(testApp, mia.email, mia.password)).statusCode, 400)
  assert.equal((await login(testApp, mia.email, 'a new password')).statusCode, 200)
})

test('204: a password change with an API key ends every session', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const holder = await keyHolder(testApp, mia)
  assert.equal((await changePassword(testApp, holder, mia.id, 'a new password')).statusCode, 204)
  assert.deepEqual([await statusOf(testApp, mia), await statusOf(testApp, holder)], [401, 200])
})

test('204: a password is kept exactly as sent', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  for (const password of ['  spaces  ', 'tab\tand\u0000nul', '🔐'.repeat(8), 'p'.repeat(256), '𝄞'.repeat(256)]) {
    assert.equal((await changePassword(testApp, mia, mia.id, password)).statusCode, 204)
    assert.equal((await login(testApp, mia.email, password)).statusCode, 200)
  }
})

test('404: an admin cannot edit a user who does not exist, and nothing is hashed', async (t) => {
  const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  const hashed: string[] = []
  const hash: typeof passwords.hash = (password, signal) => {
    hashed.push(password)
    return passwords.hash(password, signal)
  }
  const testApp = await startApp(t, { passwords: { ...passwords, hash } })
  const boss = await admin(testApp)
  for (const id of ['0', '999999', '2147483648', '9223372036854775808', '9'.repeat(400)]) {
    refused(await edit(testApp, boss, id, { email: boss.email, password: 'a new password' }), 404, 'User not Found')
    refused(await changePassword(testApp, boss, id, 'a new password'), 404, 'User not Found')
  }
  assert.deepEqual(hashed, [boss.password])
})

test('422: an invalid edit changes nothing', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const before = await stateOf(testApp, mia)
  const at = (field: string, type: string) => ({ loc: ['body', field], type })
  const rows: [object, ...{ loc: string[]; type: string }[]][] = [
    [{}, { loc: ['body'], type: 'value_error' }],
    [{ role: 'admin' }, { loc: ['body'], type: 'value_error' }],
    [[], { loc: ['body'], type: 'model_attributes_type' }],
    [{ email: null }, at('email', 'string_type')],
    [{ email: 5 }, at('email', 'string_type')],
    [{ email: '' }, at('email', 'value_error')],
    [{ email: 'a@b.io,c@d.io' }, at('email', 'value_error')],
    [{ email: 'a\u0000@b.io' }, at('email', 'value_error')],
    [{ email: `${'a'.repeat(65)}@b.io` }, at('email', 'value_error')],
    [{ password: 12_345_678 }, at('password', 'string_type')],
    [{ password: '1234567' }, at('password', 'string_too_short')],
    [{ password: 'p'.repeat(257) }, at('password', 'string_too_long')],
    [{ password: `lone \ud800 surrogate` }, at('password', 'value_error')],
    [{ first_name: '' }, at('first_name', 'string_too_short')],
    [{ first_name: ' ' }, at('first_name', 'string_too_short')],
    [{ first_name: 'n'.repeat(101) }, at('first_name', 'string_too_long')],
    [{ last_name: 'a\nb' }, at('last_name', 'value_error')],
    [{ last_name: ['x'] }, at('last_name', 'string_type')],
    [{ first_name: 'fine', last_name: true, email: 'x' }, at('email', 'value_error'), at('last_name', 'string_type')],
  ]
  for (const [payload, ...issues] of rows) invalid(await edit(testApp, mia, mia.id, payload), ...issues)
  assert.deepEqual(await stateOf(testApp, mia), before)
})

test('422: an invalid password is not set', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const before = await stateOf(testApp, mia)
  const loc = ['body', 'password']
  invalid(await changePassword(testApp, mia, mia.id, undefined), { loc, type: 'missing' })
  invalid(await changePassword(testApp, mia, mia.id, null), { loc, type: 'string_type' })
  invalid(await changePassword(testApp, mia, mia.id, 12_345_678), { loc, type: 'string_type' })
  invalid(await changePassword(testApp, mia, mia.id, '1234567'), { loc, type: 'string_too_short' })
  invalid(await changePassword(testApp, mia, mia.id, '🔐'.repeat(7)), { loc, type: 'string_too_short' })
  invalid(await changePassword(testApp, mia, mia.id, 'p'.repeat(257)), { loc, type: 'string_too_long' })
  invalid(await changePassword(testApp, mia, mia.id, 'lone \udfff surrogate'), { loc, type: 'value_error' })
  assert.deepEqual(await stateOf(testApp, mia), before)
  assert.equal(await statusOf(testApp, mia), 200)
})

test('422: an admin cannot use a user_id that is not an integer', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  const error = { loc: ['path', 'user_id'], type: 'int_parsing' }
  for (const id of ['x', '-1', '+1', '1.0', '1e3', '0x10', '%201', '%00', '١', 'null']) {
    invalid(await edit(testApp, boss, id, { first_name: 'x' }), error)
    invalid(await changePassword(testApp, boss, id, 'a new password'), error)
  }
})

test('503: accounts are unavailable during a database outage', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  await testApp.db.close()
  refused(await testApp.app.inject({ url: '/users/me', headers: mia.headers }), 503, 'Service Unavailable')
  refused(await edit(testApp, mia, mia.id, { first_name: 'x' }), 503, 'Service Unavailable')
})

test('422: an error in the path is reported before errors in the body', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  const headers = { ...boss.headers, 'content-type': 'application/json' }
  for (const payload of ['{', '', '[]']) {
    invalid(await testApp.app.inject({ method: 'PUT', url: '/users/abc', headers, payload }), {
      loc: ['path', 'user_id'],
      type: 'int_parsing',
    })
  }
  invalid(await testApp.app.inject({ method: 'PUT', url: '/users/abc', headers: boss.headers }), {
    loc: ['path', 'user_id'],
    type: 'int_parsing',
  })
})
