import assert from 'node:assert/strict'
import { createHousekeeping } from '../../../src/domain/operations/housekeeping.ts'
import { type Database, statement } from '../../../src/storage/database.ts'
import { insertSession } from '../../../src/storage/repositories/sessions/session.repository.ts'
import { findEmailChange } from '../../../src/storage/repositories/users/email-change.repository.ts'
import { emailChangeCode, member } from '../../support/app/actors.ts'
import { until } from '../../support/app/eventually.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'

const ADD_SESSIONS = statement(`
  insert into sessions (id, user_id, created_at, expires_at)
  with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < $2)
  select cast(n as text), cast($1 as bigint), 0, cast($3 as bigint) from numbers`)
const ADD_FOREIGN = statement(`
  insert into users (email, email_key, password_hash, first_name, last_name, first_name_folded, last_name_folded, role, created_at, foreign_kind)
  with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < $1)
  select email, email, '!', '-', '-', '-', '-', 'user', 0, case when first > 0 then kind || cast(first + n as text) else kind end from (
    select n, 'user-' || cast(n + cast($2 as bigint) as text) || '@example.com' as email, cast($3 as text) as kind, cast($4 as bigint) as first
    from numbers
  ) as given`)
const FOREIGN_COUNTS = statement<{ foreign_kind: string; count: number }>(`
  select foreign_kind, count(*) as count from users where foreign_kind is not null group by foreign_kind`)
const SESSION_IDS = statement<{ id: string }>('select id from sessions order by id')

test('housekeeping deletes every expired session, however many there are, and no other', async (t) => {
  const service = await startApp(t)
  const now = service.clock.now()
  const mia = await member(service)
  await service.db.transaction(async (tx) => {
    await tx.run(ADD_SESSIONS, mia.id, 1234, now)
    await insertSession(tx, { id: 'current', userId: mia.id, createdAt: now, expiresAt: now + 1 })
  })
  await createHousekeeping(service.db, service.clock.now, (error) => assert.fail(String(error))).run()
  const left = (await service.db.all(SESSION_IDS)).map(({ id }) => id)
  assert.equal(left.length, 2)
  assert.ok(left.includes('current'))
})

test('housekeeping deletes requests for another address whose link has ended, and no others', async (t) => {
  const service = await startApp(t)
  const [old, recent] = [await member(service), await member(service)]
  await emailChangeCode(service, old)
  service.clock.advance({ days: 2, hours: 1 })
  await emailChangeCode(service, recent)
  service.clock.advance({ days: 1 })
  await createHousekeeping(service.db, service.clock.now, (error) => assert.fail(String(error))).run()
  assert.equal(await findEmailChange(service.db, old.id), undefined)
  assert.notEqual(await findEmailChange(service.db, recent.id), undefined)
})

test('housekeeping rounds the kinds of foreign hashes that release 0.8.0 has stored, however many there are, and leaves others alone', async (t) => {
  const { db, clock } = await startApp(t)
  await db.run(ADD_FOREIGN, 1234, 0, 'pbkdf2-sha256/600000', 0)
  await db.run(ADD_FOREIGN, 1100, 10_000, 'pbkdf2-sha256/', 700_000)
  await db.run(ADD_FOREIGN, 3, 20_000, 'bcrypt/1024', 0)
  await db.run(ADD_FOREIGN, 3, 30_000, 'bcrypt/x', 0)
  await createHousekeeping(db, clock.now, (error) => assert.fail(String(error))).run()
  assert.deepEqual(await countForeign(db), {
    'bcrypt/1024': 3,
    'bcrypt/x': 3,
    'pbkdf2-sha256/622592': 1234,
    'pbkdf2-sha256/720896': 1100,
  })
})

test('housekeeping that fails again and again is reported once', async (t) => {
  const { db, clock } = await startApp(t)
  t.mock.timers.enable({ apis: ['setInterval'] })
  const failures: string[] = []
  let runs = 0
  const full: Database = {
    ...db,
    run: async () => {
      runs++
      throw new Error('the disk is full')
    },
  }
  const housekeeping = createHousekeeping(full, clock.now, (error) => void failures.push(String(error)))
  housekeeping.start()
  for (const expected of [1, 2, 3]) {
    await until('housekeeping has run', () => runs === expected, 30_000)
    t.mock.timers.tick(10 * 60_000)
  }
  housekeeping.stop()
  assert.deepEqual(failures, ['Error: the disk is full'])
})

test('housekeeping does not write accounts again for a few kinds, which are rounded when they are read', async (t) => {
  const { db, clock } = await startApp(t)
  await db.run(ADD_FOREIGN, 3, 0, 'pbkdf2-sha256/600000', 0)
  await createHousekeeping(db, clock.now, (error) => assert.fail(String(error))).run()
  assert.deepEqual(await countForeign(db), { 'pbkdf2-sha256/600000': 3 })
})

async function countForeign(db: Database): Promise<Record<string, number>> {
  return Object.fromEntries((await db.all(FOREIGN_COUNTS)).map(({ foreign_kind, count }) => [foreign_kind, Number(count)]))
}
