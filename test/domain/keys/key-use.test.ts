import assert from 'node:assert/strict'
import { statement } from '../../../src/storage/database.ts'
import { keyHolder, member } from '../../support/app/actors.ts'
import { eventually } from '../../support/app/eventually.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'

const LAST_USE = statement<{ last_used_at: number | null }>('select last_used_at from api_keys where id = $1')
const SET_LAST_USE = statement('update api_keys set last_used_at = $2 where id = $1')

async function lastUse({ db }: TestApp, keyId: string): Promise<number | undefined> {
  return (await db.first(LAST_USE, keyId))?.last_used_at ?? undefined
}

test('the use of a key is recorded with the time of the request', async (t) => {
  const testApp = await startApp(t)
  const holder = await keyHolder(testApp, await member(testApp))
  assert.equal(await lastUse(testApp, holder.keyId), undefined)
  await testApp.app.inject({ url: '/users/keys', headers: holder.headers })
  const usedAt = await eventually('the record of the use', () => lastUse(testApp, holder.keyId))
  assert.equal(usedAt, testApp.clock.now())
})

test('the use of a key is recorded at most once a minute', async (t) => {
  const testApp = await startApp(t)
  const { app, clock, db } = testApp
  const holder = await keyHolder(testApp, await member(testApp))
  const use = () => app.inject({ url: '/users/keys', headers: holder.headers })
  const start = clock.now()
  await db.run(SET_LAST_USE, holder.keyId, start)

  clock.advance({ seconds: 59 })
  const within = await Promise.all([use(), use(), use()])
  assert.deepEqual(
    within.map(({ statusCode }) => statusCode),
    [200, 200, 200],
  )
  clock.advance({ seconds: 1 })
  await use()
  const usedAt = await eventually('the record of the later use', async () => {
    const recorded = await lastUse(testApp, holder.keyId)
    return recorded === start ? undefined : recorded
  })
  // If a use within the minute had been recorded, this one would not have been.
  assert.equal(usedAt, start + 60_000)
})

test('the use of a refused key is not recorded', async (t) => {
  const testApp = await startApp(t)
  const { app, services } = testApp
  const holder = await keyHolder(testApp, await member(testApp))
  await services.apiKeys.edit(OPERATOR, holder.id, holder.keyId, { isActive: false })
  await app.inject({ url: '/users/keys', headers: holder.headers })
  await services.apiKeys.edit(OPERATOR, holder.id, holder.keyId, { isActive: true })
  testApp.clock.advance({ seconds: 10 })
  await app.inject({ url: '/users/keys', headers: holder.headers })
  assert.equal(await eventually('the record of the use', () => lastUse(testApp, holder.keyId)), testApp.clock.now())
})
