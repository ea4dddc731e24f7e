import assert from 'node:assert/strict'
import { counterOf, createCounting } from '../../../src/domain/plans/counting.ts'
import { parseLimit } from '../../../src/domain/values/plans.ts'
import { type Database, statement } from '../../../src/storage/database.ts'
import { createClock } from '../../support/app/clock.ts'
import { test } from '../../support/databases/databases.ts'
import { migrated } from '../../support/databases/opened.ts'

const KEYS = 1200
const USED = statement<{ windows: number; used: number | null }>('select count(*) as windows, sum(used) as used from limit_windows')
const FORGET = statement('delete from limit_windows')

test('thousands of keys that were used once give back in a few writes what they hold, and only to windows that exist', async (t) => {
  const { db } = await migrated(t)
  let writes = 0
  const watched: Database = {
    ...db,
    first: (given, ...values) => {
      writes++
      return db.first(given, ...values)
    },
    all: (given, ...values) => {
      writes++
      return db.all(given, ...values)
    },
  }
  const clock = createClock()
  const counting = createCounting(watched, clock.now)
  const limit = parseLimit('1000/d') ?? assert.fail('no limit')
  const use = (from: number) =>
    Promise.all(Array.from({ length: KEYS }, (_, n) => counting.take([counterOf('account-day', `u${from + n}`, limit)], 1)))
  const endRounds = async () => {
    for (let round = 0; round < 11; round++) await counting.round()
  }
  t.after(() => counting.stop())
  assert.ok((await use(0)).every(Boolean))
  assert.ok(Number((await db.first(USED))?.used) > KEYS * 2, 'each key holds more than it has used')
  writes = 0
  await endRounds()
  assert.ok(writes > 0 && writes <= 6, `${writes} writes`)
  const after = await db.first(USED)
  assert.deepEqual([after?.windows, Number(after?.used)], [KEYS, KEYS])
  assert.ok((await use(KEYS)).every(Boolean))
  await db.run(FORGET)
  await endRounds()
  assert.equal((await db.first(USED))?.windows, 0)
})
