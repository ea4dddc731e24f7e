import assert from 'node:assert/strict'
import { statement } from '../../../../src/storage/database.ts'
import { member } from '../../../support/app/actors.ts'
import { invalid, refused } from '../../../support/app/assertions.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { logout, post, refresh } from '../../../support/http/requests.ts'

const BAN = statement('update users set banned = $2 where id = $1')
const DELETE = statement('delete from users where id = $1')

test('200: a refresh returns a new access token of the same session, and the refresh token stays valid', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  service.clock.advance({ minutes: 121 })
  refused(await service.app.inject(logout(mia.headers)), 401, 'That token has Expired')
  const response = await service.app.inject(refresh(mia.refresh))
  assert.equal(response.statusCode, 200)
  const { token, ...rest } = response.json()
  assert.deepEqual(rest, {})
  const access = service.services.tokens.read(token, 'access')
  const refreshed = service.services.tokens.read(mia.refresh, 'refresh')
  assert.deepEqual([access.userId, access.sessionId], [refreshed.userId, refreshed.sessionId])
  assert.equal((await service.app.inject(refresh(mia.refresh))).statusCode, 200)
  assert.equal((await service.app.inject(logout({ authorization: `Bearer ${token}` }))).statusCode, 204)
})

test('200: an unverified user can refresh', async (t) => {
  const service = await startApp(t)
  const mia = await member(service, { verified: false })
  assert.equal((await service.app.inject(refresh(mia.refresh))).statusCode, 200)
})

test('401: a session ends after 30 days', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  service.clock.advance({ days: 30, seconds: -1 })
  assert.equal((await service.app.inject(refresh(mia.refresh))).statusCode, 200)
  service.clock.advance({ seconds: 1 })
  refused(await service.app.inject(refresh(mia.refresh)), 401, 'That token has Expired')
})

test('401: an access token is refused once its session has ended', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  service.clock.advance({ days: 30, minutes: -60 })
  const { token } = (await service.app.inject(refresh(mia.refresh))).json()
  service.clock.advance({ minutes: 61 })
  refused(await service.app.inject(logout({ authorization: `Bearer ${token}` })), 401, 'That token is Invalid')
})

test('401: a banned user cannot refresh until the ban is lifted', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  await service.db.run(BAN, mia.id, true)
  refused(await service.app.inject(refresh(mia.refresh)), 401, 'That token is Invalid')
  await service.db.run(BAN, mia.id, false)
  assert.equal((await service.app.inject(refresh(mia.refresh))).statusCode, 200)
})

test('401: a deleted user cannot refresh', async (t) => {
  const service = await startApp(t)
  const mia = await member(service)
  await service.db.run(DELETE, mia.id)
  refused(await service.app.inject(refresh(mia.refresh)), 401, 'That token is Invalid')
})

test('401: an empty or too long refresh token; 422: a missing one, or one that is not a string', async (t) => {
  const { app } = await startApp(t)
  refused(await app.inject(refresh('')), 401, 'That token is Invalid')
  refused(await app.inject(refresh(`${'a'.repeat(1000)}.b.${'c'.repeat(22)}`)), 401, 'That token is Invalid')
  invalid(await app.inject(post('/refresh/', {})), { loc: ['body', 'refresh'], type: 'missing' })
  for (const value of [null, 5, true, ['x'], {}])
    invalid(await app.inject(post('/refresh/', { refresh: value })), { loc: ['body', 'refresh'], type: 'string_type' })
})
