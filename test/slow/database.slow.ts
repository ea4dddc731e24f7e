import assert from 'node:assert/strict'
import { test as plainTest } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { statement } from '../../src/storage/database.ts'
import { addUser, countUsers, migrated } from '../support/databases/opened.ts'

const RENAME = statement<{ first_name: string }>('update users set first_name = $2 where id = $1 returning first_name')
/** A promise that the test settles itself. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

plainTest('PostgreSQL: reads continue while all writes wait for a lock, and replaced connections do not accumulate', async (t) => {
  const { db, target } = await migrated(Object.assign(t, { database: 'postgres' as const }))
  const userId = (await addUser(db, 'a@x.io')) ?? 0
  const other = postgres(target.kind === 'postgres' ? target.url : '', { max: 2, fetch_types: false })
  t.after(() => other.end({ timeout: 0 }))
  const [held, released] = [gate(), gate()]
  const holder = other.begin(async (tx) => {
    await tx`select id from users where id = ${userId} for update`
    held.open()
    await released.opened
  })
  await held.opened
  let [isOver, most] = [false, 0]
  const watch = (async () => {
    while (!isOver) {
      const [row] = await other`
        select count(*)::int as size from pg_stat_activity where datname = current_database() and application_name = 'latchkey'`
      most = Math.max(most, row?.['size'])
      await sleep(50)
    }
  })()
  for (let round = 0; round < 3; round++) {
    const writes = Promise.allSettled(Array.from({ length: 20 }, () => db.first(RENAME, userId, 'Late')))
    for (let reads = 0; reads < 20; reads++) assert.equal(await countUsers(db), 1)
    for (const { status } of await writes) assert.equal(status, 'rejected')
  }
  isOver = true
  released.open()
  await Promise.all([holder, watch])
  // One for reads, six for writes, and six that were replaced.
  assert.ok(most <= 13, `${most} connections`)
})
