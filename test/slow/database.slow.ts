import assert from 'node:assert/strict'
import { test as plainTest, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import type { DatabaseTarget } from '../../src/storage/database.ts'
import { type Database, statement, type Transaction } from '../../src/storage/database.ts'
import { migrate, openDatabase } from '../../src/storage/open.ts'
import { insertUser } from '../../src/storage/repositories/users/user.repository.ts'
import { type ContractContext, freshDatabase } from '../support/databases/databases.ts'

const COUNT = statement<{ count: number }>('select count(*) as count from users')
const RENAME = statement<{ first_name: string }>('update users set first_name = $2 where id = $1 returning first_name')
async function migrated(t: ContractContext): Promise<{ db: Database; target: DatabaseTarget }> {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  return { target, db: await open(t, target) }
}

async function open(t: TestContext, target: DatabaseTarget): Promise<Database> {
  const db = await openDatabase(target)
  t.after(() => db.close())
  return db
}

/** Adds a user. Given a database instead of a transaction, it opens one. */
function addUser(db: Database | Transaction, emailKey: string): Promise<number | undefined> {
  if ('transaction' in db) return db.transaction((tx) => addUser(tx, emailKey))
  const names = { firstName: 'Mia', lastName: 'Muster' }
  return insertUser(db, { email: emailKey, emailKey, ...names, passwordHash: '', role: 'user', verified: true, createdAt: 0 })
}

async function countUsers(db: Pick<Database, 'first'>): Promise<number> {
  return (await db.first(COUNT))?.count ?? -1
}

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
