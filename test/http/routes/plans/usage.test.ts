import assert from 'node:assert/strict'
import { createHousekeeping } from '../../../../src/domain/operations/housekeeping.ts'
import { createKeyUseCounts, USAGE_DAYS } from '../../../../src/domain/plans/usage.service.ts'
import { dayOf, startOfDay } from '../../../../src/model/usage.ts'
import { type Database, statement } from '../../../../src/storage/database.ts'
import { addUsage } from '../../../../src/storage/repositories/plans/usage.repository.ts'
import { type Actor, admin, keyHolder, member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { createClock } from '../../../support/app/clock.ts'
import { secondApp, startApp, type TestApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'
import { OPERATOR } from '../../../support/http/origins.ts'

type Use = { readonly day: string; readonly allowed: number; readonly limited: number }

const ROWS = statement<{ readonly count: number }>('select count(*) as count from key_usage')

function check({ app }: Pick<TestApp, 'app'>, { headers }: Pick<Actor, 'headers'>, query: Record<string, string> = {}) {
  return app.inject({ url: '/auth/check', headers, query })
}

function usage({ app }: Pick<TestApp, 'app'>, { headers }: Pick<Actor, 'headers'>, path: string, days?: number | string) {
  return app.inject({ url: `${path}/usage`, headers, query: days === undefined ? {} : { days: String(days) } })
}

const dayText = (day: number) => new Date(startOfDay(day)).toISOString().slice(0, 10)

/** In the morning, so that no test runs into the next day. */
const morning = () => createClock(startOfDay(dayOf(Date.now())) + 6 * 3_600_000)

test('200: what keys use is counted by key and day, by its cost, with what a limit refused, oldest first', async (t) => {
  const service = await startApp(t, { env: { PLANS: 'free=10/d' }, clock: morning() })
  const mia = await member(service)
  const [one, two] = [await keyHolder(service, mia), await keyHolder(service, mia)]
  await check(service, one, { cost: '4' })
  await check(service, two)
  await check(service, two, { cost: '6' })
  await service.keyUse.flush()
  service.clock.advance({ days: 2 })
  await check(service, one)
  await service.keyUse.flush()
  await check(service, one)
  await service.keyUse.flush()
  const today = dayOf(service.clock.now())
  const expected = (first: object, last: object): Use[] =>
    [-3, -2, -1, 0].map((offset) => ({
      day: dayText(today + offset),
      allowed: 0,
      limited: 0,
      ...(offset === -2 ? first : {}),
      ...(offset === 0 ? last : {}),
    }))
  const ofOne = await usage(service, one, `/users/keys/${one.keyId}`, 4)
  assert.deepEqual([ofOne.statusCode, ofOne.json()], [200, expected({ allowed: 4 }, { allowed: 2 })])
  assert.deepEqual((await usage(service, one, `/users/keys/${two.keyId}`, 4)).json(), expected({ allowed: 1, limited: 6 }, {}))
  const all = expected({ allowed: 5, limited: 6 }, { allowed: 2 })
  assert.deepEqual((await usage(service, one, '/users/me', 4)).json(), all)
  const boss = await admin(service)
  assert.deepEqual((await usage(service, boss, `/users/${mia.id}`, 4)).json(), all)
  assert.deepEqual((await usage(service, boss, `/users/keys/by-user/${mia.id}/${one.keyId}`, 4)).json(), ofOne.json())
  assert.deepEqual((await usage(service, boss, '/users/me')).json<Use[]>().length, 30)
  // The use of a deleted key stays in the sum of the account.
  await service.services.apiKeys.remove(OPERATOR, mia.id, two.keyId)
  assert.deepEqual((await usage(service, one, '/users/me', 4)).json(), all)
  refused(await usage(service, one, `/users/keys/${two.keyId}`), 404, 'API key not found')
})

test('200: refusals for other reasons, sessions and other routes are no use', async (t) => {
  const service = await startApp(t, { clock: morning() })
  const mia = await member(service)
  const key = await keyHolder(service, mia)
  await check(service, mia)
  await check(service, key, { role: 'admin' })
  await check(service, key, { cost: '0' })
  await service.app.inject({ url: '/users/me', headers: key.headers })
  await service.keyUse.flush()
  assert.equal((await service.db.first(ROWS))?.count, 0)
})

test('404, 422: an unknown key or account, and days out of range', async (t) => {
  const service = await startApp(t)
  const [mia, boss] = [await member(service), await admin(service)]
  const key = await keyHolder(service, mia)
  refused(await usage(service, boss, `/users/keys/${key.keyId}`), 404, 'API key not found')
  refused(await usage(service, boss, '/users/4711'), 404, 'User not Found')
  refused(await usage(service, boss, `/users/keys/by-user/4711/${key.keyId}`), 404, 'User not Found')
  refused(await usage(service, boss, `/users/keys/by-user/${boss.id}/${key.keyId}`), 404, 'API key not found')
  for (const days of ['0', '401', '-1', 'x', '1.5']) assert.equal((await usage(service, mia, '/users/me', days)).statusCode, 422, days)
  const whole = (await usage(service, mia, '/users/me', USAGE_DAYS)).json<Use[]>()
  assert.deepEqual([whole.length, whole.at(-1)?.day], [400, dayText(dayOf(service.clock.now()))])
})

test('use of several processes is added up, and a flush that fails is repeated without counting twice', async (t) => {
  const service = await startApp(t, { clock: morning() })
  const mia = await member(service)
  const key = await keyHolder(service, mia)
  const other = { app: await secondApp(t, service) }
  await Promise.all([check(service, key), check(other, key), check(other, key)])
  // The graceful stop of a process writes what it has counted.
  await service.keyUse.flush()
  const [seq, day] = [(await service.db.first(SEQ, key.keyId))?.seq ?? 0, dayOf(service.clock.now())]
  let failure: 'before' | 'after' | undefined
  const failing: Database = {
    ...service.db,
    async transaction(work, options) {
      if (failure === 'before') throw new Error('away')
      const result = await service.db.transaction(work, options)
      options?.onCommitSent?.()
      if (failure === 'after') throw new Error('the answer was lost')
      return result
    },
  }
  const counts = createKeyUseCounts(failing, service.clock.now)
  counts.note({ seq }, mia.id, 'allowed', 5)
  failure = 'before'
  await assert.rejects(counts.flush(), { message: 'away' })
  failure = 'after'
  await assert.rejects(counts.flush(), { message: 'the answer was lost' })
  failure = undefined
  await counts.flush()
  const own = (await usage(service, mia, '/users/me', 1)).json<Use[]>()
  assert.deepEqual(own, [{ day: dayText(day), allowed: 6, limited: 0 }])
})

const SEQ = statement<{ readonly seq: number }>('select seq from api_keys where id = $1')

test('use is kept for 400 days, and goes with its account, in batches', async (t) => {
  const service = await startApp(t, { clock: morning() })
  const [mia, noah] = [await member(service), await member(service)]
  const today = dayOf(service.clock.now())
  const rows = (userId: number, keySeq: number, days: number) =>
    Array.from({ length: days }, (_, age) => ({ day: today - age, userId, keySeq, allowed: 1, limited: 0 }))
  await service.db.transaction((tx) => addUsage(tx, rows(mia.id, 1, 1100)))
  await service.db.transaction((tx) => addUsage(tx, rows(noah.id, 2, 400)))
  await service.db.transaction((tx) => addUsage(tx, rows(noah.id, 3, 300)))
  await createHousekeeping(service.db, service.clock.now, (error) => assert.fail(String(error))).run()
  assert.equal((await service.db.first(ROWS))?.count, 1100)
  const whole = (await usage(service, mia, '/users/me', 400)).json<Use[]>()
  assert.deepEqual([whole[0]?.allowed, whole.at(-1)?.allowed], [1, 1])
  await service.services.userAdministration.remove(OPERATOR, noah.id)
  assert.equal((await service.db.first(ROWS))?.count, 400)
  // What another process has counted for the account is dropped.
  service.keyUse.note({ seq: 2 }, noah.id, 'allowed', 1)
  await service.keyUse.flush()
  assert.equal((await service.db.first(ROWS))?.count, 400)
})

test('the keys that were used most, with their owners', async (t) => {
  const service = await startApp(t, { clock: morning() })
  const mia = await member(service)
  const keys = [await keyHolder(service, mia), await keyHolder(service, mia), await keyHolder(service, mia)]
  for (const [index, key] of keys.entries()) for (let count = 0; count <= index; count++) await check(service, key)
  await service.keyUse.flush()
  const busiest = await service.services.usage.busiest(7, 2)
  assert.deepEqual(
    busiest.map(({ keyId, ownerId, ownerEmail, allowed }) => [keyId, ownerId, ownerEmail, allowed]),
    [
      [keys[2]?.keyId, mia.id, mia.email, 3],
      [keys[1]?.keyId, mia.id, mia.email, 2],
    ],
  )
})
