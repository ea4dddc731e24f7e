import assert from 'node:assert/strict'
import { hash } from '@node-rs/argon2'
import { Refusal } from '../../../../src/model/refusal.ts'
import { secretsOf } from '../../../../src/process/secrets.ts'
import { createPasswords, type Passwords } from '../../../../src/security/password.ts'
import { createServices } from '../../../../src/services.ts'
import { statement } from '../../../../src/storage/database.ts'
import { findUserByEmail } from '../../../../src/storage/repositories/users/user.repository.ts'
import { member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { ORIGIN } from '../../../support/http/origins.ts'
import { login, logout, newEmail } from '../../../support/http/requests.ts'

const BAN = statement('update users set banned = true where id = $1')
const SET_HASH = statement('update users set password_hash = $2 where id = $1')
const COUNT_SESSIONS = statement<{ count: number }>('select count(*) as count from sessions')

test('200: a login returns two tokens of one new session', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const response = await service.app.inject(login({ email: mia.email.toUpperCase(), password: mia.password }))
  assert.equal(response.statusCode, 200)
  const body = response.json()
  assert.deepEqual(Object.keys(body).sort(), ['refresh', 'token'])
  const access = service.services.tokens.read(body.token, 'access')
  const refresh = service.services.tokens.read(body.refresh, 'refresh')
  assert.deepEqual([access.userId, access.sessionId], [refresh.userId, refresh.sessionId])
  assert.equal(access.userId, mia.id)
  assert.notEqual(body.token, mia.token)
})

test('400: a wrong password and an unknown address get the same response and no session', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const wrongPassword = await service.app.inject(login({ email: mia.email, password: 'wrong password' }))
  const unknownAddress = await service.app.inject(login({ email: newEmail(), password: 'wrong password' }))
  refused(wrongPassword, 400, 'Wrong email or password')
  assert.equal(wrongPassword.body, unknownAddress.body)
  assert.deepEqual(Object.keys(wrongPassword.headers), Object.keys(unknownAddress.headers))
  assert.equal((await service.db.first(COUNT_SESSIONS))?.count, 1)
})

test('400: a password that is too short or too long counts as wrong', async (t) => {
  const service = await startApp(t)
  const { email } = await member(service)
  for (const password of ['', 'x', 'x'.repeat(257), 'x'.repeat(10_000)]) {
    refused(await service.app.inject(login({ email, password })), 400, 'Wrong email or password')
  }
})

test('400: a password of more than 256 code points is refused without hashing', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const compared: string[] = []
  const passwords: Passwords = {
    ...createPasswords(),
    async matches(password) {
      compared.push(password)
      return true
    },
  }
  const parts = { db: service.db, now: service.clock.now, secrets: () => secretsOf(service.config), passwords }
  const services = createServices(service.config, parts)
  await assert.rejects(services.login.api.byPassword(ORIGIN, mia.email, 'x'.repeat(257)), { code: 'wrong_credentials' })
  await services.login.api.byPassword(ORIGIN, mia.email, '𝒳'.repeat(256))
  assert.deepEqual(compared, ['𝒳'.repeat(256)])
})

test('503: while the password queue is full, a login is refused before the database is read', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const full: Passwords = {
    ...service.passwords,
    requireRoom() {
      throw new Refusal('unavailable', 'the password queue is full')
    },
  }
  const isRead = async () => assert.fail('the database is read')
  const unread = { ...service.db, first: isRead, all: isRead }
  const parts = { db: unread, now: service.clock.now, secrets: () => secretsOf(service.config), passwords: full }
  const services = createServices(service.config, parts)
  await assert.rejects(services.login.api.byPassword(ORIGIN, mia.email, mia.password), { code: 'unavailable' })
})

test('401: after the password, a login checks the ban, then the verification', async (t) => {
  const service = await startApp(t)
  const { id, email, password } = await member(service, { verified: false })
  refused(await service.app.inject(login({ email, password })), 401, 'You need to verify your Email before logging in')
  await service.db.run(BAN, id)
  refused(await service.app.inject(login({ email, password })), 401, 'This User is banned')
  refused(await service.app.inject(login({ email, password: 'wrong password' })), 400, 'Wrong email or password')
})

test('401: a refused login has a WWW-Authenticate header', async (t) => {
  const service = await startApp(t)
  const { email, password } = await member(service, { verified: false })
  assert.equal((await service.app.inject(login({ email, password }))).headers['www-authenticate'], 'Bearer')
})

test('422: email and password are required strings', async (t) => {
  const { app } = await startApp(t)
  invalid(
    await app.inject({ method: 'POST', url: '/login/', payload: {} }),
    { loc: ['body', 'email'], type: 'missing' },
    { loc: ['body', 'password'], type: 'missing' },
  )
  invalid(
    await app.inject(login({ email: 'mia', password: 12345678 })),
    { loc: ['body', 'email'], type: 'value_error' },
    { loc: ['body', 'password'], type: 'string_type' },
  )
})

test('200: a login replaces a hash that is weaker than the current parameters', async (t) => {
  const service = await startApp(t)
  const { id, email, password } = await member(service)
  const cheap = await hash(password, { memoryCost: 32, timeCost: 1, parallelism: 1 })
  await service.db.run(SET_HASH, id, cheap)
  assert.equal((await service.app.inject(login({ email, password }))).statusCode, 200)
  const stored = (await findUserByEmail(service.db, email))?.passwordHash
  assert.match(stored ?? '', /^\$argon2id\$v=19\$m=64,t=1,p=1\$/)
  assert.equal((await service.app.inject(login({ email, password }))).statusCode, 200)
  assert.equal((await findUserByEmail(service.db, email))?.passwordHash, stored)
})

test('204: a logout ends its session, with access and refresh token, and no other', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  const other = (await service.app.inject(login({ email: mia.email, password: mia.password }))).json()
  const response = await service.app.inject(logout(mia.headers))
  assert.deepEqual([response.statusCode, response.body], [204, ''])
  refused(await service.app.inject(logout(mia.headers)), 401, 'That token is Invalid')
  refused(await service.app.inject({ method: 'POST', url: '/refresh/', payload: { refresh: mia.refresh } }), 401, 'That token is Invalid')
  assert.equal((await service.app.inject({ method: 'POST', url: '/refresh/', payload: { refresh: other.refresh } })).statusCode, 200)
})

test('401: a logout without credentials is refused', async (t) => {
  const { app } = await startApp(t)
  const response = await app.inject(logout({}))
  refused(response, 401, 'Not authenticated. Use either JWT token or API key.')
  assert.equal(response.headers['www-authenticate'], 'Bearer')
})
