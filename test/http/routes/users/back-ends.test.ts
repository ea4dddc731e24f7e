import assert from 'node:assert/strict'
import { NO_PASSWORD } from '../../../../src/security/password.ts'
import { statement } from '../../../../src/storage/database.ts'
import { findUserByEmail, findUserById } from '../../../../src/storage/repositories/users/user.repository.ts'
import { type Actor, admin, keyHolder, member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { storedKinds } from '../../../support/app/audit.ts'
import { secondApp, startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'
import { forgotPassword, login, newEmail, PASSWORD, resetPassword } from '../../../support/http/requests.ts'

const WRONG = 'Wrong email or password'
const DEMOTE_ALL = statement("update users set role = 'user'")
const REMOVE_PASSWORD = statement('update users set password_hash = $2 where id = $1')

function as({ app }: Pick<TestApp, 'app'>, { headers }: Pick<Actor, 'headers'>) {
  return (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) =>
    app.inject({ method, url, headers, ...(payload && { payload }) })
}

/** What a request for a new account needs. */
function person(fields: object = {}) {
  return { email: newEmail(), first_name: 'Nia', last_name: 'Neu', ...fields }
}

test('200: GET /users/me?details=true adds what the account is, and without it the view is the specified one', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const basic = { email: mia.email, first_name: mia.firstName, last_name: mia.lastName }
  for (const { headers } of [mia, await keyHolder(service, mia, { access: 'identify' })]) {
    const call = as(service, { headers })
    for (const url of ['/users/me', '/users/me?details=false']) assert.deepEqual((await call('GET', url)).json(), basic)
    const detailed = await call('GET', '/users/me?details=true')
    assert.equal(detailed.statusCode, 200, detailed.body)
    assert.deepEqual(detailed.json(), {
      ...basic,
      id: mia.id,
      role: 'user',
      verified: true,
      banned: false,
      created_at: new Date(service.clock.now()).toISOString(),
      second_factor: false,
    })
    invalid(await call('GET', '/users/me?details=maybe'), { loc: ['query', 'details'], type: 'bool_parsing' })
  }
})

test('200: PUT /users/me changes the own account as PUT /users/{id} does', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const other = await member(service)
  const call = as(service, mia)
  const email = newEmail()
  const changed = await call('PUT', '/users/me', { email, first_name: ' Maria ', role: 'admin' })
  assert.deepEqual(changed.json(), { email, first_name: 'Maria', last_name: mia.lastName })
  assert.equal((await findUserById(service.db, mia.id))?.role, 'user')
  refused(await call('PUT', '/users/me', { email: other.email.toUpperCase() }), 400, 'A User with this email already exists')
  invalid(await call('PUT', '/users/me', {}), { loc: ['body'], type: 'value_error' })
  for (const access of ['read', 'identify'] as const) {
    const key = await keyHolder(service, mia, { access })
    refused(await as(service, key)('PUT', '/users/me', { first_name: 'X' }), 403, 'Not enough permissions')
  }
  const kinds = await storedKinds(service.db)
  assert.ok(kinds.includes(`user.edited ${mia.id}`))
})

test('200: with CONFIRM_EMAIL_CHANGES, PUT /users/me leaves the address as it is and mails a link', async (t) => {
  const service = await startApp(t, { env: { CONFIRM_EMAIL_CHANGES: 'true' } })
  const mia = await member(service)
  const email = newEmail()
  assert.equal((await as(service, mia)('PUT', '/users/me', { email })).json().email, mia.email)
  assert.equal(await service.mailbox.countFor(email), 1)
})

test('204: users change their password with the current one, and all other sessions end', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const other = (await service.app.inject(login(mia))).json()
  const call = as(service, mia)
  for (const current_password of ['wrong password', '', 'x'.repeat(257), undefined])
    refused(await call('POST', '/users/me/password', { current_password, password: 'a new password' }), 400, WRONG)
  invalid(await call('POST', '/users/me/password', { current_password: mia.password, password: 'short' }), {
    loc: ['body', 'password'],
    type: 'string_too_short',
  })
  assert.equal((await service.app.inject(login(mia))).statusCode, 200, 'nothing has changed')
  const changed = await call('POST', '/users/me/password', { current_password: mia.password, password: 'a new password' })
  assert.deepEqual([changed.statusCode, changed.body], [204, ''])
  assert.equal((await call('GET', '/users/me')).statusCode, 200)
  const ended = await as(service, { headers: { authorization: `Bearer ${other.token}` } })('GET', '/users/me')
  refused(ended, 401, 'That token is Invalid')
  refused(await service.app.inject(login(mia)), 400, WRONG)
  assert.equal((await service.app.inject(login({ email: mia.email, password: 'a new password' }))).statusCode, 200)
  const key = await keyHolder(service, mia)
  const again = { current_password: 'a new password', password: 'a newer password' }
  assert.equal((await as(service, key)('POST', '/users/me/password', again)).statusCode, 204)
})

test('429: wrong current passwords count like failed logins', async (t) => {
  const service = await startApp(t, { env: { RATE_LIMITS: 'login:account=3/m' } })
  const mia = await member(service)
  const call = as(service, mia)
  const guess = () => call('POST', '/users/me/password', { current_password: 'wrong password', password: 'a new password' })
  for (let n = 0; n < 3; n++) refused(await guess(), 400, WRONG)
  refused(await guess(), 429, 'Too many requests')
  refused(await service.app.inject(login(mia)), 429, 'Too many requests')
})

test('400: of changes with the same current password at once, one succeeds', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const call = as(service, mia)
  const answers = await Promise.all(
    Array.from({ length: 4 }, (_, n) =>
      call('POST', '/users/me/password', { current_password: mia.password, password: `a new password ${n}` }),
    ),
  )
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [204, 400, 400, 400])
})

test('204: an account without a password sets its first one in a confirmed session, and with nothing else', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  await service.db.run(REMOVE_PASSWORD, mia.id, NO_PASSWORD)
  const call = as(service, mia)
  const first = { password: 'a first password' }
  for (const current_password of ['', NO_PASSWORD, PASSWORD])
    refused(await call('POST', '/users/me/password', { ...first, current_password }), 400, WRONG)
  refused(await as(service, await keyHolder(service, mia))('POST', '/users/me/password', first), 403, 'Not enough permissions')
  service.clock.advance({ minutes: 11 })
  refused(await call('POST', '/users/me/password', first), 403, 'Confirm that it is you')
  service.clock.advance({ minutes: -11 })
  const both = [call('POST', '/users/me/password', first), call('POST', '/users/me/password', { password: 'another password' })]
  const answers = await Promise.all(both)
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [204, 400], 'one of two at once')
  refused(await call('POST', '/users/me/password', first), 400, WRONG)
})

test('201: an admin creates an account, which can log in at once', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const profile = person()
  const created = await as(service, await keyHolder(service, boss))('POST', '/users/', { ...profile, password: PASSWORD })
  assert.equal(created.statusCode, 201, created.body)
  const { id, ...view } = created.json()
  assert.deepEqual(view, { ...profile, role: 'user', banned: false, verified: true })
  assert.deepEqual((await as(service, boss)('GET', `/users/?user_id=${id}`)).json(), created.json())
  assert.equal((await service.app.inject(login({ email: profile.email }))).statusCode, 200)
  assert.equal(await service.mailbox.countFor(profile.email), 0)
  refused(
    await as(service, boss)('POST', '/users/', person({ email: profile.email.toUpperCase() })),
    400,
    'A User with this email already exists',
  )
})

test('201: an account without a password logs in after a reset, and answers until then like any wrong password', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const { email } = (await as(service, boss)('POST', '/users/', person())).json()
  assert.equal((await findUserByEmail(service.db, email))?.passwordHash, NO_PASSWORD)
  for (const password of ['', NO_PASSWORD, PASSWORD]) refused(await service.app.inject(login({ email, password })), 400, WRONG)
  await service.app.inject(forgotPassword(email))
  const code = await service.mailbox.codeFor(email)
  assert.equal((await service.app.inject(resetPassword({ code, new_password: PASSWORD }))).statusCode, 200)
  assert.equal((await service.app.inject(login({ email }))).statusCode, 200)
})

test('201: role and verified are the chosen ones, and a new admin leaves its event', async (t) => {
  const service = await startApp(t)
  const call = as(service, await admin(service))
  const { id, role, verified, email } = (
    await call('POST', '/users/', person({ role: 'admin', verified: false, password: PASSWORD }))
  ).json()
  assert.deepEqual([role, verified], ['admin', false])
  refused(await service.app.inject(login({ email })), 401, 'You need to verify your Email before logging in')
  const kinds = await storedKinds(service.db)
  assert.deepEqual(kinds.slice(-2), [`user.registered ${id}`, `user.promoted ${id}`])
})

test('422: POST /users/ names every invalid field, and creates nothing', async (t) => {
  const service = await startApp(t)
  const call = as(service, await admin(service))
  const wrong = { email: 'nobody', first_name: '', password: 'short', role: 'owner', verified: 'true' }
  invalid(
    await call('POST', '/users/', wrong),
    { loc: ['body', 'email'], type: 'value_error' },
    { loc: ['body', 'first_name'], type: 'string_too_short' },
    { loc: ['body', 'last_name'], type: 'missing' },
    { loc: ['body', 'password'], type: 'string_too_short' },
    { loc: ['body', 'role'], type: 'enum' },
    { loc: ['body', 'verified'], type: 'bool_type' },
  )
  assert.equal((await call('GET', '/users/')).json().length, 1)
})

test('422: a listed password is refused for a new account and for a change of the own one', async (t) => {
  const service = await startApp(t, { env: { PASSWORD_BLOCKLIST: 'common' } })
  const boss = await admin(service)
  const call = as(service, boss)
  const listed = { loc: ['body', 'password'], type: 'value_error' }
  invalid(await call('POST', '/users/', person({ password: 'password123' })), listed)
  invalid(await call('POST', '/users/me/password', { current_password: boss.password, password: 'password123' }), listed)
})

test('204: an admin verifies an account, once or again; 404 where there is none', async (t) => {
  const service = await startApp(t)
  const call = as(service, await admin(service))
  const mia = await member(service, { verified: false })
  for (let n = 0; n < 2; n++) assert.equal((await call('POST', `/users/${mia.id}/verify`)).statusCode, 204)
  assert.equal((await service.app.inject(login(mia))).statusCode, 200)
  assert.equal((await storedKinds(service.db)).filter((kind) => kind.startsWith('user.verified')).length, 1)
  for (const action of ['verify', 'revoke-admin']) refused(await call('POST', `/users/987654/${action}`), 404, 'User not Found')
})

test('204: an admin revokes the role of another one with the very next request; somebody who is none stays so', async (t) => {
  const service = await startApp(t)
  const [boss, other, mia] = [await admin(service), await admin(service), await member(service)]
  for (const { id } of [other, other, mia]) assert.equal((await as(service, boss)('POST', `/users/${id}/revoke-admin`)).statusCode, 204)
  refused(await as(service, other)('GET', '/users/'), 403, 'Not enough permissions')
  assert.equal((await storedKinds(service.db)).filter((kind) => kind.startsWith('user.demoted')).length, 1)
})

test('400: the last admin keeps the role, and so does the last who can log in', async (t) => {
  const service = await startApp(t)
  const boss = await admin(service)
  const resign = () => as(service, boss)('POST', `/users/${boss.id}/revoke-admin`)
  refused(await resign(), 400, 'Cannot revoke the last admin')
  const other = await admin(service)
  await service.services.userAdministration.ban(OPERATOR, other.id)
  refused(await resign(), 400, 'Cannot revoke the last admin')
  await service.services.userAdministration.unban(OPERATOR, other.id)
  assert.equal((await resign()).statusCode, 204)
  assert.equal((await findUserById(service.db, boss.id))?.role, 'user')
})

test('400, 403: admins who revoke the roles of each other or their own at once, in two processes, leave one admin', async (t) => {
  const service = await startApp(t)
  const elsewhere = { app: await secondApp(t, service) }
  for (const isOwn of [true, false]) {
    const two = await Promise.all([admin(service), admin(service)])
    const [one, other] = two
    const [first, second] = isOwn ? [one, other] : [other, one]
    const answers = await Promise.all([
      as(service, one)('POST', `/users/${first.id}/revoke-admin`),
      as(elsewhere, other)('POST', `/users/${second.id}/revoke-admin`),
    ])
    assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [204, isOwn ? 400 : 403])
    const left = await Promise.all(two.map(({ id }) => findUserById(service.db, id)))
    const admins = left.filter((user) => user?.role === 'admin')
    assert.equal(admins.length, 1)
    // The next round begins without an admin.
    await service.db.run(DEMOTE_ALL)
  }
})

test('200: an admin creates a key for a user as the user could', async (t) => {
  const service = await startApp(t)
  const call = as(service, await admin(service))
  const mia = await member(service)
  const url = `/users/keys/by-user/${mia.id}`
  const created = await call('POST', `${url}?details=true`, { name: ' ci ', scopes: ['a'], access: 'read' })
  assert.equal(created.statusCode, 200, created.body)
  const { key, ...view } = created.json()
  assert.deepEqual([view.name, view.scopes, view.access], ['ci', ['a'], 'read'])
  assert.equal((await as(service, { headers: { 'x-api-key': key } })('GET', '/users/me')).json().email, mia.email)
  const plain = (await call('POST', url, { name: 'plain' })).json()
  assert.deepEqual(Object.keys(plain).sort(), ['created_at', 'id', 'is_active', 'key', 'name', 'scopes'])
  assert.deepEqual(
    (await call('GET', url)).json().map(({ id }: { id: string }) => id),
    [view.id, plain.id],
  )
  refused(await call('POST', '/users/keys/by-user/987654', { name: 'ci' }), 404, 'User not Found')
  invalid(await call('POST', url, {}), { loc: ['body', 'name'], type: 'missing' })
})

test('422: with KEY_SCOPES, keys have no other scope, and without it any', async (t) => {
  const service = await startApp(t, { env: { KEY_SCOPES: 'reports:read, reports:write' } })
  const boss = await admin(service)
  const call = as(service, boss)
  for (const url of ['/users/keys', `/users/keys/by-user/${boss.id}`]) {
    const other = await call('POST', url, { name: 'ci', scopes: ['reports:read', 'reports:delete'] })
    assert.deepEqual(
      [other.statusCode, other.json()],
      [422, { detail: [{ loc: ['body', 'scopes'], type: 'value_error', msg: 'This scope does not exist' }] }],
    )
    assert.equal(other.headers['x-error-code'], 'invalid_request')
    for (const scopes of [['reports:write', 'reports:read'], [], null])
      assert.equal((await call('POST', url, { name: 'ci', scopes })).statusCode, 200)
  }
  const open = await startApp(t)
  assert.equal((await as(open, await member(open))('POST', '/users/keys', { name: 'ci', scopes: ['anything at all'] })).statusCode, 200)
})
