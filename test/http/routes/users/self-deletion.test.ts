import assert from 'node:assert/strict'
import { Refusal } from '../../../../src/model/refusal.ts'
import { createPasswords, type Passwords } from '../../../../src/security/password.ts'
import { statement } from '../../../../src/storage/database.ts'
import { findUserById } from '../../../../src/storage/repositories/users/user.repository.ts'
import { type Actor, admin, keyHolder, member, visitor } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { storedKinds } from '../../../support/app/audit.ts'
import { startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { actorOf, OPERATOR } from '../../../support/http/origins.ts'
import { login, register } from '../../../support/http/requests.ts'

const ON = { env: { SELF_DELETION: 'true' } }
const DEMOTE = statement("update users set role = 'user' where id = $1")
const WRONG = 'Wrong email or password'

function leave({ app }: TestApp, { headers }: Pick<Actor, 'headers'>, payload?: object) {
  return app.inject({ method: 'DELETE', url: '/users/me', headers, ...(payload && { payload }) })
}

async function exists({ db }: TestApp, { id }: Actor): Promise<boolean> {
  return (await findUserById(db, id)) !== undefined
}

test('204: users delete their own account with their password, by token or by key, and the address is free again', async (t) => {
  const service = await startApp(t, ON)
  for (const kind of ['token', 'key'] as const) {
    const mia = await member(service)
    const holder = await keyHolder(service, mia)
    const response = await leave(service, kind === 'token' ? mia : holder, { password: mia.password })
    assert.deepEqual({ status: response.statusCode, body: response.body }, { status: 204, body: '' })
    assert.equal(await exists(service, mia), false)
    refused(await service.app.inject({ url: '/users/me', headers: mia.headers }), 401, 'That token is Invalid')
    refused(await service.app.inject({ url: '/users/me', headers: holder.headers }), 401, 'Invalid API key')
    refused(await service.app.inject(login({ email: mia.email })), 400, WRONG)
    assert.equal((await service.app.inject(register({ email: mia.email }))).statusCode, 201)
  }
  const events = service.logged.map((line) => JSON.parse(line)).filter(({ event }) => event === 'user.deleted')
  assert.equal(events.length, 2)
  assert.ok(events.every(({ actor, target }) => actor === target))
})

test('400: a wrong, short or overlong password deletes nothing', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  for (const password of ['wrong password', '', 'x', 'x'.repeat(257), `${mia.password} `])
    refused(await leave(service, mia, { password }), 400, WRONG)
  assert.equal(await exists(service, mia), true)
  assert.equal((await service.app.inject({ url: '/users/me', headers: mia.headers })).statusCode, 200)
})

test('400: the last admin cannot leave, and learns so only with the right password; one of two admins can', async (t) => {
  const service = await startApp(t, ON)
  const boss = await admin(service)
  refused(await leave(service, boss, { password: 'wrong password' }), 400, WRONG)
  refused(await leave(service, boss, { password: boss.password }), 400, 'Cannot delete the last admin user')
  assert.equal(await exists(service, boss), true)
  await admin(service)
  assert.equal((await leave(service, boss, { password: boss.password })).statusCode, 204)
})

test('400: an admin cannot leave while every other admin is banned or not verified', async (t) => {
  const service = await startApp(t, ON)
  const [boss, banned, unverified] = [await admin(service), await admin(service), await member(service, { verified: false })]
  await service.services.userAdministration.ban(OPERATOR, banned.id)
  await service.services.userAdministration.makeAdmin(OPERATOR, unverified.id)
  refused(await leave(service, boss, { password: boss.password }), 400, 'Cannot delete the last admin user')
  await service.services.userAdministration.unban(OPERATOR, banned.id)
  assert.equal((await leave(service, boss, { password: boss.password })).statusCode, 204)
})

test('400: a wrong password leaves the event of a failed login', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  const { authentication, ownAccount, failedLogins, limiter } = service.services
  const actor = actorOf(await authentication.byToken(mia.token))
  await assert.rejects(ownAccount.remove(actor, 'wrong password', limiter), { code: 'wrong_credentials' })
  await failedLogins.flush()
  assert.equal((await storedKinds(service.db)).at(-1), `login.failed ${mia.id}`)
})

test('400: of two admins who leave at the same moment one stays', async (t) => {
  const service = await startApp(t, ON)
  for (let round = 0; round < 5; round++) {
    const admins = [await admin(service), await admin(service)]
    const responses = await Promise.all(admins.map((boss) => leave(service, boss, { password: boss.password })))
    assert.deepEqual(responses.map(({ statusCode }) => statusCode).sort(), [204, 400])
    for (const boss of admins) await service.db.run(DEMOTE, boss.id)
  }
})

test('401, 403: callers without credentials, and keys that may not change anything, delete nothing', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  refused(await leave(service, visitor, { password: mia.password }), 401, 'Not authenticated. Use either JWT token or API key.')
  for (const access of ['read', 'identify'] as const)
    refused(await leave(service, await keyHolder(service, mia, { access }), { password: mia.password }), 403, 'Not enough permissions')
  assert.equal(await exists(service, mia), true)
})

test('405: without the setting the path has no such method', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const response = await leave(service, mia, { password: mia.password })
  refused(response, 405, 'Method Not Allowed')
  assert.equal(response.headers.allow, 'GET, HEAD, PUT')
  assert.equal(await exists(service, mia), true)
})

test('422: the password is required, and is a text', async (t) => {
  const service = await startApp(t, ON)
  const mia = await member(service)
  invalid(await leave(service, mia), { loc: ['body'], type: 'missing' })
  invalid(await leave(service, mia, {}), { loc: ['body', 'password'], type: 'missing' })
  invalid(await leave(service, mia, { password: 12345678 }), { loc: ['body', 'password'], type: 'string_type' })
  assert.equal(await exists(service, mia), true)
})

test('429: a guess counts like a failed login, and together with failed logins; the right password does not count', async (t) => {
  const service = await startApp(t, { env: { ...ON.env, RATE_LIMITS: 'login:account=3/h' } })
  const mia = await member(service)
  const boss = await admin(service)
  for (let round = 0; round < 5; round++)
    refused(await leave(service, boss, { password: boss.password }), 400, 'Cannot delete the last admin user')
  refused(await service.app.inject(login({ email: mia.email, password: 'wrong password' })), 400, WRONG)
  for (const password of ['wrong password', 'x'.repeat(300)]) refused(await leave(service, mia, { password }), 400, WRONG)
  const limited = await leave(service, mia, { password: mia.password })
  refused(limited, 429, 'Too many requests')
  assert.ok(Number(limited.headers['retry-after']) > 0)
  refused(await service.app.inject(login({ email: mia.email })), 429, 'Too many requests')
  assert.equal(await exists(service, mia), true)
  service.clock.advance({ hours: 1 })
  assert.equal((await leave(service, mia, { password: mia.password })).statusCode, 204)
})

test('429: guesses from one network count together', async (t) => {
  const service = await startApp(t, { env: { ...ON.env, RATE_LIMITS: 'login:ip=2/h' } })
  const statuses: number[] = []
  for (let round = 0; round < 3; round++) statuses.push((await leave(service, await member(service), { password: 'wrong' })).statusCode)
  assert.deepEqual(statuses, [400, 400, 429])
})

test('503: with a full password queue nothing is deleted', async (t) => {
  const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  const full = async () => {
    throw new Refusal('unavailable', 'the password queue is full')
  }
  const service = await startApp(t, { ...ON, passwords: { ...passwords, matches: full } })
  const mia = await member(service)
  const response = await leave(service, mia, { password: mia.password })
  refused(response, 503, 'Service Unavailable')
  assert.ok(response.headers['retry-after'] !== undefined)
  assert.equal(await exists(service, mia), true)
})

test('400: a password that changes while it is checked no longer deletes the account', async (t) => {
  const [checking, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })
  const slow: Passwords = {
    ...passwords,
    async matches(...given) {
      const isMatch = await passwords.matches(...given)
      checking.resolve()
      await allowed.promise
      return isMatch
    },
  }
  const service = await startApp(t, { ...ON, passwords: slow })
  const mia = await keyHolder(service, await member(service))
  const leaving = leave(service, mia, { password: mia.password })
  await checking.promise
  await service.services.users.changePassword(OPERATOR, mia.id, 'a new password')
  allowed.resolve()
  refused(await leaving, 400, WRONG)
  assert.equal(await exists(service, mia), true)
})
