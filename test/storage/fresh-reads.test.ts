import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test as plainTest, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { hashApiKey } from '../../src/security/api-key-secret.ts'
import { statement } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { findKeyOwner } from '../../src/storage/repositories/keys/key.repository.ts'
import { findSessionUser, insertSession } from '../../src/storage/repositories/sessions/session.repository.ts'
import { admin, keyHolder, member } from '../support/app/actors.ts'
import { secondApp, startApp, type TestApp } from '../support/app/start-app.ts'
import { test } from '../support/databases/databases.ts'

const BAN = statement('update users set banned = true where id = $1')
const UNBAN = statement('update users set banned = false where id = $1')
const ROUNDS = 50

/** Starts look-ups of another user in every turn of the event loop, as under load. */
function startLookUps(t: TestContext, { db }: TestApp): void {
  let isOver = false
  t.after(() => {
    isOver = true
  })
  async function run(): Promise<void> {
    while (!isOver) {
      await Promise.all([findSessionUser(db, 'another', 0, 0), findKeyOwner(db, 'another')]).catch(() => undefined)
      await nextTurn()
    }
  }
  for (let count = 0; count < 3; count++) void run()
}

test('401: a ban by another process applies to the very next request, by token and by API key, under load', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const withKey = await keyHolder(testApp, mia)
  const elsewhere = await openDatabase(testApp.config.database)
  t.after(() => elsewhere.close())
  startLookUps(t, testApp)
  for (let round = 0; round < ROUNDS; round++) {
    await elsewhere.run(BAN, mia.id)
    const answers = await Promise.all([mia, withKey].map(({ headers }) => testApp.app.inject({ url: '/users/me', headers })))
    assert.deepEqual(
      answers.map(({ statusCode }) => statusCode),
      [401, 401],
      `round ${round}`,
    )
    await elsewhere.run(UNBAN, mia.id)
  }
})

test('401: a ban over HTTP in one process applies to the very next request in another', async (t) => {
  const testApp = await startApp(t)
  const [boss, mia] = [await admin(testApp), await member(testApp)]
  const other = await secondApp(t, testApp)
  startLookUps(t, testApp)
  const ban = await other.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: boss.headers })
  assert.equal(ban.statusCode, 204)
  assert.equal((await testApp.app.inject({ url: '/users/me', headers: mia.headers })).statusCode, 401)
})

plainTest(
  'SQLite: of two look-ups in one turn of the event loop, the second sees a write that another process made in between',
  async (t) => {
    const testApp = await startApp(t)
    const { db, config } = testApp
    const mia = await member(testApp)
    await db.transaction((tx) => insertSession(tx, { id: 'session', userId: mia.id, createdAt: 0, expiresAt: 1 }))
    // A separate connection has its own view of the file, like another process.
    const other = new DatabaseSync(config.database.kind === 'sqlite' ? config.database.file : assert.fail())
    t.after(() => other.close())
    await nextTurn()
    const before = findSessionUser(db, 'session', mia.id, 0)
    other.exec(`update users set banned = true where id = ${mia.id}`)
    const after = findSessionUser(db, 'session', mia.id, 0)
    await before
    assert.equal((await after)?.user.banned, true)
  },
)

plainTest('PostgreSQL: look-ups that share one statement run after the last of them was requested', async (t) => {
  const testApp = await startApp(t, { database: 'postgres' })
  const { db, config } = testApp
  const mia = await member(testApp)
  await db.transaction((tx) => insertSession(tx, { id: 'session', userId: mia.id, createdAt: 0, expiresAt: 1 }))
  const elsewhere = await openDatabase(config.database)
  t.after(() => elsewhere.close())
  for (let round = 0; round < ROUNDS; round++) {
    const [, found] = await Promise.all([
      findSessionUser(db, 'session', mia.id, 0),
      elsewhere.run(BAN, mia.id).then(() => findSessionUser(db, 'session', mia.id, 0)),
    ])
    assert.equal(found?.user.banned, true, `round ${round}`)
    await elsewhere.run(UNBAN, mia.id)
  }
})

test('each look-up of a turn finds its own row, whatever characters its value has', async (t) => {
  const testApp = await startApp(t)
  const { db } = testApp
  const mia = await member(testApp)
  const ids = ['plain', '"', String.raw`\ `, '{a,b}', "'", 'null', '']
  for (const [index, id] of ids.entries())
    await db.transaction((tx) => insertSession(tx, { id, userId: mia.id, createdAt: index, expiresAt: 100 }))
  const asked = [...ids, 'nobody'].map((id) => findSessionUser(db, id, mia.id, 0))
  assert.deepEqual(
    (await Promise.all(asked)).map((found) => found?.confirmedAt),
    [0, 1, 2, 3, 4, 5, 6, undefined],
  )
})

test('look-ups of two kinds in one turn find their own rows, however many there are', async (t) => {
  const testApp = await startApp(t)
  const { db } = testApp
  const holders = await Promise.all(Array.from({ length: 3 }, async () => keyHolder(testApp, await member(testApp))))
  for (const { id } of holders)
    await db.transaction((tx) => insertSession(tx, { id: `session of ${id}`, userId: id, createdAt: 0, expiresAt: 1 }))
  const asked = Array.from({ length: 40 }, () => holders).flat()
  const found = await Promise.all(
    asked.flatMap(({ id, key }) => [findSessionUser(db, `session of ${id}`, id, 0), findKeyOwner(db, hashApiKey(key))]),
  )
  assert.deepEqual(
    found.map((one) => one?.user.id),
    asked.flatMap(({ id }) => [id, id]),
  )
})

test('a row that cannot be read fails its own look-up, not the others of the turn or later ones', async (t) => {
  const testApp = await startApp(t)
  const { db } = testApp
  const [broken, whole] = [await keyHolder(testApp, await member(testApp)), await keyHolder(testApp, await member(testApp))]
  const find = ({ key }: typeof whole) => findKeyOwner(db, hashApiKey(key))
  await db.run(statement("update api_keys set scopes = 'no list' where key_hash = $1"), hashApiKey(broken.key))
  const results = await Promise.allSettled([find(broken), find(whole)])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  )
  const elsewhere = await openDatabase(testApp.config.database)
  t.after(() => elsewhere.close())
  await elsewhere.run(BAN, whole.id)
  assert.equal((await find(whole))?.user.banned, true)
})

plainTest('SQLite: a look-up that was requested before the database is closed is answered', async (t) => {
  const { db } = await startApp(t)
  const asked = findSessionUser(db, 'nobody', 1, 0)
  await db.close()
  assert.equal(await asked, undefined)
})

plainTest('SQLite: a look-up is answered before a batch of writes, not behind it', async (t) => {
  const { db } = await startApp(t)
  const order: string[] = []
  const write = () =>
    db.transaction(async (tx) => {
      await findSessionUser(tx, 'nobody', 1, 0)
      order.push('write')
    })
  const writes = Array.from({ length: 5 }, write)
  const lookUp = findSessionUser(db, 'nobody', 1, 0).then(() => order.push('look-up'))
  await Promise.all([...writes, lookUp])
  assert.notEqual(order.at(-1), 'look-up', order.join())
})
