import assert from 'node:assert/strict'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { ensureAdmin } from '../../../src/domain/sign-in/first-admin.service.ts'
import { createPasswords } from '../../../src/security/password.ts'
import { type Database, statement } from '../../../src/storage/database.ts'
import { migrate, openDatabase } from '../../../src/storage/open.ts'
import { findUserByEmail } from '../../../src/storage/repositories/users/user.repository.ts'
import { member } from '../../support/app/actors.ts'
import { startApp } from '../../support/app/start-app.ts'
import { freshDatabase, test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'

const COUNT = statement<{ count: number }>('select count(*) as count from users')
const BAN = statement('update users set banned = true where id = $1')
const ROOT = { email: 'Root@example.com', password: 'correct horse' }

const passwords = createPasswords({ memoryKiB: 64, passes: 1, maxWaitMs: 30_000 })

function partsOn(db: Database, now: () => number) {
  return { changes: createChanges({ db, now, followUps: () => [], onEvent: () => undefined }), passwords, now }
}

test('a missing admin is created, verified, with the given password', async (t) => {
  const { db, clock } = await startApp(t)
  assert.deepEqual(await ensureAdmin(partsOn(db, clock.now), OPERATOR, ROOT), { promoted: undefined })
  const user = await findUserByEmail(db, 'root@example.com')
  assert.deepEqual(
    { email: user?.email, role: user?.role, verified: user?.verified, banned: user?.banned },
    { email: 'Root@example.com', role: 'admin', verified: true, banned: false },
  )
  assert.equal(await passwords.matches(ROOT.password, user?.passwordHash), true)
})

test('an existing account is promoted and verified, and keeps its password, names and ban', async (t) => {
  const testApp = await startApp(t)
  const { db, clock } = testApp
  const mia = await member(testApp, { email: 'root@example.com', password: 'already in use', verified: false })
  await db.run(BAN, mia.id)
  assert.deepEqual(await ensureAdmin(partsOn(db, clock.now), OPERATOR, ROOT), { promoted: mia.id })
  assert.deepEqual(await ensureAdmin(partsOn(db, clock.now), OPERATOR, ROOT), { promoted: undefined })
  const user = await findUserByEmail(db, 'root@example.com')
  assert.deepEqual(
    { id: user?.id, names: [user?.firstName, user?.lastName], role: user?.role, verified: user?.verified, banned: user?.banned },
    { id: mia.id, names: [mia.firstName, mia.lastName], role: 'admin', verified: true, banned: true },
  )
  assert.equal(await passwords.matches('already in use', user?.passwordHash), true)
})

test('processes that start at the same time create one admin', async (t) => {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const databases = await Promise.all([1, 2, 3].map(() => openDatabase(target)))
  t.after(() => Promise.all(databases.map((db) => db.close())))
  await Promise.all(databases.map((db) => ensureAdmin(partsOn(db, Date.now), OPERATOR, ROOT)))
  assert.equal((await databases[0]?.first(COUNT))?.count, 1)
})
