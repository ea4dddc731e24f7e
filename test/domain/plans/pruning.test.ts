import assert from 'node:assert/strict'
import { createHousekeeping } from '../../../src/domain/operations/housekeeping.ts'
import { USAGE_DAYS } from '../../../src/domain/plans/usage.service.ts'
import { dayOf } from '../../../src/model/usage.ts'
import { type Database, statement } from '../../../src/storage/database.ts'
import { keyHolder, member } from '../../support/app/actors.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'

const OLD_ROWS = 40_000
const BATCH_SIZE = 500
const REQUESTED_EVERY = 20
const ADD_USE = statement(`
  insert into key_usage (day, user_id, key_seq, allowed, limited)
  with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < $3)
  select cast($1 as integer), cast($2 as bigint), n, 1, 0 from numbers`)
const DAYS_LEFT = statement<{ day: number; count: number }>('select day, count(*) as count from key_usage group by day order by day')

test('use of old days is deleted in batches, and requests that read and write are answered between them', async (t) => {
  const service = await startApp(t)
  const { app, db, clock } = service
  const mia = await member(service)
  const key = await keyHolder(service, mia)
  const today = dayOf(clock.now())
  await db.transaction(async (tx) => {
    await tx.run(ADD_USE, today - USAGE_DAYS, mia.id, OLD_ROWS)
    await tx.run(ADD_USE, today - USAGE_DAYS + 1, mia.id, 3)
  })
  const batches: number[] = []
  let pairs = 0

  async function requestBoth(): Promise<void> {
    const created = await app.inject({ method: 'POST', url: '/users/keys', headers: mia.headers, payload: { name: 'meanwhile' } })
    const checked = await app.inject({ url: '/auth/check', headers: key.headers })
    assert.deepEqual([created.statusCode, checked.statusCode], [200, 200])
    pairs++
  }

  const watched: Database = {
    ...db,
    async run(given, ...values) {
      const changed = await db.run(given, ...values)
      if (!given.sql.includes('key_usage')) return changed
      batches.push(changed)
      // The next batch waits for the requests. A lock that the deletion held between two batches would make them fail.
      if (batches.length % REQUESTED_EVERY === 1) await requestBoth()
      return changed
    },
  }
  await createHousekeeping(watched, clock.now, (error) => assert.fail(String(error))).run()
  assert.deepEqual(batches, [...Array<number>(OLD_ROWS / BATCH_SIZE).fill(BATCH_SIZE), 0])
  assert.equal(pairs, Math.ceil(batches.length / REQUESTED_EVERY))
  assert.deepEqual(await db.all(DAYS_LEFT), [{ day: today - USAGE_DAYS + 1, count: 3 }])
})
