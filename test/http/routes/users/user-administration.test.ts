import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { findUserById } from '../../../../src/storage/repositories/users/user.repository.ts'
import { type Actor, admin, keyHolder, member, visitor } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { insertUsers, numberedUsers } from '../../../support/databases/users.ts'

type Sender = Pick<Actor, 'headers'>
type Action = 'make-admin' | 'ban' | 'unban' | 'delete'

const ACTIONS: readonly Action[] = ['make-admin', 'ban', 'unban', 'delete']
const COUNT_ROWS = statement<{ sessions: number; keys: number }>(`
  select (select count(*) from sessions where user_id = $1) as sessions, (select count(*) from api_keys where user_id = $1) as keys`)

function act({ app }: TestApp, { headers }: Sender, action: Action, id: number | string) {
  if (action === 'delete') return app.inject({ method: 'DELETE', url: `/users/${id}`, headers })
  return app.inject({ method: 'POST', url: `/users/${id}/${action}`, headers })
}

async function done(testApp: TestApp, sender: Sender, action: Action, id: number | string): Promise<void> {
  const response = await act(testApp, sender, action, id)
  assert.deepEqual({ status: response.statusCode, body: response.body }, { status: 204, body: '' })
}

async function statusOf({ app }: TestApp, { headers }: Sender): Promise<number> {
  return (await app.inject({ url: '/users/me', headers })).statusCode
}

function viewOf({ id, email, firstName, lastName }: Actor, changes: object = {}) {
  return { id, email, first_name: firstName, last_name: lastName, role: 'user', banned: false, verified: true, ...changes }
}

function login({ app }: TestApp, { email, password }: Actor) {
  return app.inject({ method: 'POST', url: '/login/', payload: { email, password } })
}

test('200: an admin lists the full view of all users in order of id', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp, { firstName: '"Mia" <b>', lastName: 'Ünal\u2028\\' })
  const boss = await admin(testApp)
  const max = await member(testApp, { verified: false })
  await done(testApp, boss, 'ban', mia.id)
  for (const { headers } of [boss, await keyHolder(testApp, boss)]) {
    for (const url of ['/users/', '/users', '/api/v1/users/']) {
      const response = await testApp.app.inject({ url, headers })
      assert.equal(response.statusCode, 200)
      assert.equal(response.headers['content-type'], 'application/json; charset=utf-8')
      assert.deepEqual(response.json(), [viewOf(mia, { banned: true }), viewOf(boss, { role: 'admin' }), viewOf(max, { verified: false })])
    }
  }
})

test('200: a list of several pages is complete', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  const ids = await insertUsers(testApp, numberedUsers(1000))
  const list = await testApp.app.inject({ url: '/users/', headers: boss.headers })
  assert.deepEqual(
    list.json<{ id: number }[]>().map(({ id }) => id),
    [boss.id, ...ids],
  )
  // The admin and 999 users fill the last page of 250 exactly.
  await done(testApp, boss, 'delete', ids[0] ?? 0)
  const shorter = await testApp.app.inject({ url: '/users/', headers: boss.headers })
  assert.equal(shorter.json<unknown[]>().length, 1000)
})

test('200: HEAD of the list returns no body and reads no users', async (t) => {
  const testApp = await startApp(t)
  const { headers } = await admin(testApp)
  testApp.db.lists.all = () => assert.fail('the list was read')
  const response = await testApp.app.inject({ method: 'HEAD', url: '/users/', headers })
  assert.deepEqual({ status: response.statusCode, body: response.body }, { status: 200, body: '' })
})

test('200: an admin gets one user as an object', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const { headers } = await admin(testApp)
  const response = await testApp.app.inject({ url: `/users/?user_id=${mia.id}`, headers })
  assert.deepEqual({ status: response.statusCode, body: response.json() }, { status: 200, body: viewOf(mia) })
})

test('404: an integer that is not the id of a user, however large', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  for (const id of ['0', '999999', '2147483648', '9223372036854775808', '9'.repeat(400)]) {
    refused(await testApp.app.inject({ url: `/users/?user_id=${id}`, headers: boss.headers }), 404, 'User not Found')
    for (const action of ACTIONS) refused(await act(testApp, boss, action, id), 404, 'User not Found')
  }
})

test('422: a user_id that is not an integer is refused', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  for (const id of ['x', '-1', '+1', '1.0', '1e3', '0x10', '%201', '%00', '١', 'null', 'true']) {
    const list = await testApp.app.inject({ url: `/users/?user_id=${id.replace('+', '%2B')}`, headers: boss.headers })
    invalid(list, { loc: ['query', 'user_id'], type: 'int_parsing' })
    for (const action of ACTIONS) invalid(await act(testApp, boss, action, id), { loc: ['path', 'user_id'], type: 'int_parsing' })
  }
  const empty = await testApp.app.inject({ url: '/users/?user_id=', headers: boss.headers })
  invalid(empty, { loc: ['query', 'user_id'], type: 'int_parsing' })
  const twice = await testApp.app.inject({ url: '/users/?user_id=1&user_id=2', headers: boss.headers })
  invalid(twice, { loc: ['query', 'user_id'], type: 'value_error' })
})

test('401, 403: a client without credentials and a user cannot administer users', async (t) => {
  const testApp = await startApp(t)
  const { app, db } = testApp
  const mia = await member(testApp)
  const max = await member(testApp)
  const before = await findUserById(db, max.id)
  for (const id of [max.id, mia.id, 999_999, 'x']) {
    for (const action of ACTIONS) {
      refused(await act(testApp, visitor, action, id), 401, 'Not authenticated. Use either JWT token or API key.')
      refused(await act(testApp, mia, action, id), 403, 'Not enough permissions')
      refused(await act(testApp, await keyHolder(testApp, mia), action, id), 403, 'Not enough permissions')
    }
  }
  for (const url of ['/users/', '/users/?user_id=x', `/users/?user_id=${mia.id}`]) {
    refused(await app.inject({ url }), 401, 'Not authenticated. Use either JWT token or API key.')
    refused(await app.inject({ url, headers: mia.headers }), 403, 'Not enough permissions')
  }
  assert.deepEqual(await findUserById(db, max.id), before)
})

test('204: a new admin has the role from the next request on, and make-admin is idempotent', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  const mia = await member(testApp)
  const before = await findUserById(testApp.db, mia.id)
  await done(testApp, boss, 'make-admin', mia.id)
  await done(testApp, mia, 'make-admin', mia.id)
  assert.deepEqual(await findUserById(testApp.db, mia.id), { ...before, role: 'admin' })
})

test('204: a ban suspends sessions and keys at once, refuses logins and invalidates reset tokens', async (t) => {
  const testApp = await startApp(t)
  const { app, db, services } = testApp
  const boss = await admin(testApp)
  const mia = await member(testApp)
  const holder = await keyHolder(testApp, mia)
  const before = await findUserById(db, mia.id)
  const reset = services.tokens.forMail('reset', mia.id, before?.resetVersion ?? 0)

  await done(testApp, boss, 'ban', mia.id)
  refused(await app.inject({ url: '/users/me', headers: mia.headers }), 401, 'That token is Invalid')
  refused(await app.inject({ url: '/users/me', headers: holder.headers }), 401, 'Invalid API key')
  refused(await login(testApp, mia), 401, 'This User is banned')
  const refresh = await app.inject({ method: 'POST', url: '/refresh/', payload: { refresh: mia.refresh } })
  refused(refresh, 401, 'That token is Invalid')

  await done(testApp, boss, 'ban', mia.id)
  await done(testApp, boss, 'unban', mia.id)
  await done(testApp, boss, 'unban', mia.id)
  assert.deepEqual([await statusOf(testApp, mia), await statusOf(testApp, holder)], [200, 200])
  assert.equal((await login(testApp, mia)).statusCode, 200)
  const payload = { code: reset, new_password: 'a new password' }
  refused(await app.inject({ method: 'POST', url: '/reset-password/', payload }), 401, 'That token is Invalid')
  assert.deepEqual(await findUserById(db, mia.id), { ...before, resetVersion: (before?.resetVersion ?? 0) + 1 })
})

test('400: an admin cannot ban themself', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  await admin(testApp)
  for (const sender of [boss, await keyHolder(testApp, boss)]) {
    refused(await act(testApp, sender, 'ban', boss.id), 400, 'You cannot ban yourself')
  }
  assert.equal(await statusOf(testApp, boss), 200)
})

test('204: a deletion removes the user, their sessions and keys at once, and their id is not reused', async (t) => {
  const testApp = await startApp(t)
  const { app, db } = testApp
  const boss = await admin(testApp)
  const mia = await member(testApp)
  const holder = await keyHolder(testApp, mia)
  await done(testApp, boss, 'delete', mia.id)
  refused(await app.inject({ url: '/users/me', headers: mia.headers }), 401, 'That token is Invalid')
  refused(await app.inject({ url: '/users/me', headers: holder.headers }), 401, 'Invalid API key')
  refused(await login(testApp, mia), 400, 'Wrong email or password')
  refused(await act(testApp, boss, 'delete', mia.id), 404, 'User not Found')
  assert.equal(await findUserById(db, mia.id), undefined)
  assert.deepEqual({ ...(await db.first(COUNT_ROWS, mia.id)) }, { sessions: 0, keys: 0 })

  const again = await member(testApp, { email: mia.email })
  assert.ok(again.id > mia.id, 'the id of a deleted user was reused')
})

test('400: the last admin cannot be deleted, and banned admins count', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  await member(testApp)
  refused(await act(testApp, boss, 'delete', boss.id), 400, 'Cannot delete the last admin user')
  assert.equal(await statusOf(testApp, boss), 200)

  const second = await admin(testApp)
  await done(testApp, boss, 'ban', second.id)
  await done(testApp, boss, 'delete', boss.id)
  assert.equal(await statusOf(testApp, boss), 401)
  assert.equal((await findUserById(testApp.db, second.id))?.role, 'admin')
})

test('204: an admin can delete other admins and themself while one admin remains', async (t) => {
  const testApp = await startApp(t)
  const [first, second, third] = [await admin(testApp), await admin(testApp), await admin(testApp)]
  await done(testApp, first, 'delete', third.id)
  await done(testApp, first, 'delete', first.id)
  refused(await act(testApp, second, 'delete', second.id), 400, 'Cannot delete the last admin user')
})

test('204: a route without a body ignores one', async (t) => {
  const testApp = await startApp(t)
  const { app } = testApp
  const boss = await admin(testApp)
  const mia = await member(testApp)
  const bodies = [
    { headers: { 'content-type': 'application/json' }, payload: '' },
    { headers: { 'content-type': 'application/json' }, payload: '{broken' },
    { headers: { 'content-type': 'text/plain' }, payload: 'user_id=1' },
    { headers: { 'content-type': 'application/json' }, payload: JSON.stringify({ user_id: boss.id, role: 'user' }) },
  ]
  for (const { headers, payload } of bodies) {
    const response = await app.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: { ...boss.headers, ...headers }, payload })
    assert.equal(response.statusCode, 204, response.body)
  }
  assert.equal(await statusOf(testApp, boss), 200)
})

test('503: user administration is unavailable during a database outage', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  const mia = await member(testApp)
  await testApp.db.close()
  refused(await testApp.app.inject({ url: '/users/', headers: boss.headers }), 503, 'Service Unavailable')
  for (const action of ACTIONS) refused(await act(testApp, boss, action, mia.id), 503, 'Service Unavailable')
})
