import assert from 'node:assert/strict'
import { MAX_KEYS } from '../../../src/domain/keys/keys.service.ts'
import { MAX_SESSIONS } from '../../../src/domain/sessions/sessions.service.ts'
import { createPasswords } from '../../../src/security/password.ts'
import { statement } from '../../../src/storage/database.ts'
import { type Actor, admin, keyHolder, member } from '../../support/app/actors.ts'
import { refused } from '../../support/app/assertions.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { OPERATOR, ORIGIN } from '../../support/http/origins.ts'
import { login, resetPassword } from '../../support/http/requests.ts'

const NUMBERS = 'with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < $2)'
const ROW_ID = `cast(cast($1 as bigint) as text) || '-' || cast(n as text)`
const ADD_KEYS = statement(`
  insert into api_keys (id, user_id, name, key_hash, scopes, created_at, is_active)
  ${NUMBERS} select ${ROW_ID}, cast($1 as bigint), 'key', ${ROW_ID}, '[]', 0, n % 2 = 0 from numbers`)
const ADD_SESSIONS = statement(`
  insert into sessions (id, user_id, created_at, expires_at)
  ${NUMBERS} select ${ROW_ID}, cast($1 as bigint), n, 9999999999999 from numbers`)
const MAKE_NEWER = statement('update sessions set created_at = created_at + $2 where user_id = $1 and created_at < 1000')
const COUNT_KEYS = statement<{ count: number }>('select count(*) as count from api_keys where user_id = $1')
const COUNT_SESSIONS = statement<{ count: number }>('select count(*) as count from sessions where user_id = $1')

async function rowsOf({ db }: TestApp, userId: number): Promise<{ keys: number; sessions: number }> {
  const [keys, sessions] = await Promise.all([db.first(COUNT_KEYS, userId), db.first(COUNT_SESSIONS, userId)])
  return { keys: keys?.count ?? 0, sessions: sessions?.count ?? 0 }
}

/** Records the largest number of rows that one transaction deletes. */
function watchDeletions(testApp: TestApp): { most: number } {
  const seen = { most: 0 }
  const { transaction } = testApp.db
  testApp.db.transaction = (work, options) =>
    transaction(async (tx) => {
      let deleted = 0
      const run: typeof tx.run = async (declared, ...values) => {
        const changed = await tx.run(declared, ...values)
        if (/^\s*delete/.test(declared.sql)) deleted += changed
        return changed
      }
      const result = await work({ ...tx, run })
      seen.most = Math.max(seen.most, deleted)
      return result
    }, options)
  return seen
}

test('400: a user has at most 1,000 API keys, including disabled ones', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  await testApp.db.run(ADD_KEYS, mia.id, MAX_KEYS - 1)
  const create = () => testApp.app.inject({ method: 'POST', url: '/users/keys', headers: mia.headers, payload: { name: 'one more' } })
  const [last, tooMany] = await Promise.all([create(), create()])
  assert.deepEqual([last.statusCode, tooMany.statusCode].sort(), [200, 400])
  refused(last.statusCode === 400 ? last : tooMany, 400, 'Too many API keys')
  assert.equal((await rowsOf(testApp, mia.id)).keys, MAX_KEYS)
  const { id } = last.statusCode === 200 ? last.json() : tooMany.json()
  await testApp.app.inject({ method: 'DELETE', url: `/users/keys/${id}`, headers: mia.headers })
  assert.equal((await create()).statusCode, 200)
})

test('a user has at most 100 sessions: a login beyond them ends the oldest', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  for (let opened = 1; opened < MAX_SESSIONS; opened++) {
    testApp.clock.advance({ seconds: 1 })
    assert.equal((await testApp.app.inject(login({ email: mia.email }))).statusCode, 200)
  }
  const isOpen = async () => (await testApp.app.inject({ url: '/users/me', headers: mia.headers })).statusCode === 200
  assert.equal(await isOpen(), true)
  testApp.clock.advance({ seconds: 1 })
  const { token } = (await testApp.app.inject(login({ email: mia.email }))).json()
  assert.equal(await isOpen(), false)
  assert.equal((await testApp.app.inject({ url: '/users/me', headers: { authorization: `Bearer ${token}` } })).statusCode, 200)
  assert.equal((await rowsOf(testApp, mia.id)).sessions, MAX_SESSIONS)
})

test('a user with very many keys and sessions is deleted in small transactions, over HTTP and by an operator', async (t) => {
  const testApp = await startApp(t)
  const boss = await admin(testApp)
  for (const way of ['http', 'operator'] as const) {
    const mia = await keyHolder(testApp, await member(testApp))
    await testApp.db.run(ADD_KEYS, mia.id, 2300)
    await testApp.db.run(ADD_SESSIONS, mia.id, 1700)
    const seen = watchDeletions(testApp)
    const progress: number[] = []
    if (way === 'operator') await testApp.services.userAdministration.remove(OPERATOR, mia.id, (rows) => progress.push(rows))
    else assert.equal((await testApp.app.inject({ method: 'DELETE', url: `/users/${mia.id}`, headers: boss.headers })).statusCode, 204)
    assert.deepEqual(await rowsOf(testApp, mia.id), { keys: 0, sessions: 0 })
    assert.ok(seen.most > 0 && seen.most <= 1001, `${seen.most} rows were deleted in one transaction`)
    assert.equal(progress.length > 2, way === 'operator')
    await assert.rejects(testApp.services.userAdministration.find(mia.id), { code: 'user_not_found' })
  }
})

test('users with very many keys and sessions delete their own account in small transactions, with their oldest session or key', async (t) => {
  const testApp = await startApp(t, { env: { SELF_DELETION: 'true' } })
  await admin(testApp)
  for (const way of ['session', 'key', 'admin'] as const) {
    const owner = way === 'admin' ? await admin(testApp) : await member(testApp)
    const holder = await keyHolder(testApp, owner)
    await testApp.db.run(ADD_KEYS, owner.id, 1500)
    await testApp.db.run(ADD_SESSIONS, owner.id, 1500)
    await testApp.db.run(MAKE_NEWER, owner.id, testApp.clock.now() + 1)
    const seen = watchDeletions(testApp)
    const headers = way === 'session' ? owner.headers : holder.headers
    const request =
      way === 'admin' ? { url: `/users/${owner.id}`, headers } : { url: '/users/me', headers, payload: { password: owner.password } }
    assert.equal((await testApp.app.inject({ method: 'DELETE', ...request })).statusCode, 204)
    assert.deepEqual(await rowsOf(testApp, owner.id), { keys: 0, sessions: 0 })
    assert.ok(seen.most > 0 && seen.most <= 201, `${seen.most} rows were deleted in one transaction`)
    await assert.rejects(testApp.services.userAdministration.find(owner.id), { code: 'user_not_found' })
  }
})

test('a password change keeps the session that it comes from, however old that is', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  testApp.clock.advance({ minutes: 1 })
  await testApp.db.run(ADD_SESSIONS, mia.id, 600)
  await testApp.db.run(MAKE_NEWER, mia.id, testApp.clock.now())
  const change = {
    method: 'POST',
    url: `/users/${mia.id}/password`,
    headers: mia.headers,
    payload: { password: 'a new password' },
  } as const
  assert.equal((await testApp.app.inject(change)).statusCode, 204)
  assert.equal((await testApp.app.inject({ url: '/users/me', headers: mia.headers })).statusCode, 200)
  assert.equal((await rowsOf(testApp, mia.id)).sessions, 1)
})

test('a password reset and a password change end very many sessions in small transactions', async (t) => {
  const testApp = await startApp(t)
  const { services } = testApp
  const ways: ((user: Actor) => Promise<unknown>)[] = [
    ({ id, resetVersion }) => services.passwordReset.reset(ORIGIN, services.tokens.forMail('reset', id, resetVersion), 'a new password'),
    ({ id }) => services.users.changePassword(OPERATOR, id, 'a new password'),
  ]
  for (const change of ways) {
    const mia = await member(testApp)
    await testApp.db.run(ADD_SESSIONS, mia.id, 2300)
    const seen = watchDeletions(testApp)
    await change(mia)
    assert.equal((await rowsOf(testApp, mia.id)).sessions, 0)
    assert.ok(seen.most > 0 && seen.most <= 500, `${seen.most} rows were deleted in one transaction`)
    const { items } = await services.audit.list({ kind: 'session.revoked', target: mia.id, size: 100 })
    assert.equal(
      items.reduce((sum, { detail }) => sum + (JSON.parse(detail ?? '{}') as { count: number }).count, 0),
      // All but the last hundred, which end with the password.
      2201,
    )
  }
})

test('401: a reset whose token was used meanwhile ends no session, not even one beyond the maximum', async (t) => {
  const [started, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  const hash: typeof passwords.hash = async (password, signal) => {
    if (password === 'password of the second') {
      started.resolve()
      await allowed.promise
    }
    return passwords.hash(password, signal)
  }
  const testApp = await startApp(t, { passwords: { ...passwords, hash } })
  const { app, services } = testApp
  const mia = await member(testApp)
  const code = services.tokens.forMail('reset', mia.id, mia.resetVersion)
  const second = app.inject(resetPassword({ code, new_password: 'password of the second' }))
  await started.promise
  assert.equal((await app.inject(resetPassword({ code, new_password: 'password of the first' }))).statusCode, 200)
  await testApp.db.run(ADD_SESSIONS, mia.id, MAX_SESSIONS + 50)
  allowed.resolve()
  refused(await second, 401, 'That token is Invalid')
  assert.equal((await rowsOf(testApp, mia.id)).sessions, MAX_SESSIONS + 50)
})

test('a caller who was banned since authentication ends no session, not even one beyond the maximum', async (t) => {
  const testApp = await startApp(t)
  const { services } = testApp
  const [boss, mia] = [await admin(testApp), await member(testApp)]
  await admin(testApp)
  await testApp.db.run(ADD_SESSIONS, mia.id, MAX_SESSIONS + 50)
  const before = await rowsOf(testApp, mia.id)
  const banned = { caller: await services.authentication.byToken(boss.token), origin: ORIGIN }
  await services.userAdministration.ban(OPERATOR, boss.id)
  await assert.rejects(services.sessions.revokeAll(banned, mia.id), { code: 'token_invalid' })
  assert.deepEqual(await rowsOf(testApp, mia.id), before)
})
