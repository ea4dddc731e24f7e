import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import postgres from 'postgres'
import { Refusal } from '../../src/model/refusal.ts'
import type { DatabaseTarget } from '../../src/storage/database.ts'
import { statement } from '../../src/storage/database.ts'
import { migrate, openDatabase } from '../../src/storage/open.ts'
import { freshDatabase, test } from '../support/databases/databases.ts'

const INSERT = statement(`
  insert into users (email, email_key, password_hash, first_name, first_name_folded, last_name, last_name_folded, role, created_at)
  values ($1, $1, 'x', 'Mia', 'mia', 'Meyer', 'meyer', 'user', 1)`)
const COUNT = statement<{ count: number }>('select count(*) as count from users')

/** Keeps everybody else from writing. Returns a function that ends it. */
async function holdLock(target: DatabaseTarget): Promise<() => Promise<void>> {
  if (target.kind === 'sqlite') {
    const connection = new DatabaseSync(target.file)
    connection.exec('begin immediate')
    return async () => connection.close()
  }
  const client = postgres(target.url, { max: 1, onnotice: () => undefined })
  const released = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holding = client.begin(async (tx) => {
    await tx`lock table users in exclusive mode`
    locked.resolve()
    await released.promise
  })
  await locked.promise
  return async () => {
    released.resolve()
    await holding
    await client.end()
  }
}

test('a long transaction waits for a lock beyond the deadline of a request, which ends every other one', async (t) => {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const db = await openDatabase(target)
  t.after(() => db.close())
  const release = await holdLock(target)
  const long = db.transaction((tx) => tx.run(INSERT, 'long@example.com'), { isLong: true })
  long.catch(() => undefined)
  // Refused after the deadline of a request, so the long one has waited at least as long.
  await assert.rejects(
    db.transaction((tx) => tx.run(INSERT, 'short@example.com')),
    (error) => error instanceof Refusal && error.code === 'unavailable',
  )
  await release()
  assert.equal(await long, 1)
  assert.equal((await db.first(COUNT))?.count, 1)
})
