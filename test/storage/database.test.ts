import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test as plainTest, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { emailKey } from '../../src/domain/values/email.ts'
import { Refusal } from '../../src/model/refusal.ts'
import { type Database, declaredStatements, statement, UniqueViolation } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/open.ts'
import { findKeyOwner, insertApiKey } from '../../src/storage/repositories/keys/key.repository.ts'
import { findSessionUser, insertSession, type NewSession } from '../../src/storage/repositories/sessions/session.repository.ts'
import { eventually, until } from '../support/app/eventually.ts'
import { freshDatabase, temporaryFolder, test } from '../support/databases/databases.ts'
import { addUser, countUsers, migrated, open } from '../support/databases/opened.ts'
import { startNode } from '../support/processes/processes.ts'

const DELETE = statement('delete from users where id = $1')
const RENAME = statement<{ first_name: string }>('update users set first_name = $2 where id = $1 returning first_name')
const AS_NUMBER = statement('select cast($1 as bigint) as number')
const HOLD_LOCK = fileURLToPath(new URL('../support/processes/lock-process.ts', import.meta.url))
const STORAGE = new URL('../../src/storage/repositories/', import.meta.url)

function addSession(db: Database, session: NewSession): Promise<void> {
  return db.transaction((tx) => insertSession(tx, session))
}

/** Repeats work that was refused because the machine is busy. Unless its commit was on its way, it has changed nothing. */
async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  const { result } = await eventually('the work is not refused', () =>
    work().then(
      (value) => ({ result: value }),
      (error: unknown) => {
        if (error instanceof Refusal && error.code === 'unavailable') return undefined
        throw error
      },
    ),
  )
  return result
}

/** A promise that the test settles itself. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

test('a transaction commits as a whole and returns its result', async (t) => {
  const { db } = await migrated(t)
  const ids = await db.transaction(async (tx) => [await addUser(tx, 'a@x.io'), await addUser(tx, 'b@x.io')])
  assert.deepEqual(ids, [1, 2])
  assert.equal(await countUsers(db), 2)
})

test('a transaction that throws is rolled back and rethrows, and the next one works', async (t) => {
  const { db } = await migrated(t)
  const attempt = db.transaction(async (tx) => {
    await addUser(tx, 'a@x.io')
    assert.equal(await countUsers(tx), 1)
    throw new Refusal('email_taken')
  })
  await assert.rejects(attempt, { name: 'Refusal', code: 'email_taken' })
  assert.equal(await countUsers(db), 0)
  await db.transaction((tx) => addUser(tx, 'a@x.io'))
  assert.equal(await countUsers(db), 1)
})

test('unavailable: a transaction whose signal has aborted is rolled back', async (t) => {
  const { db } = await migrated(t)
  const caller = new AbortController()
  const attempt = (email: string) =>
    db.transaction(
      async (tx) => {
        await addUser(tx, email)
        caller.abort()
      },
      { signal: caller.signal },
    )
  await assert.rejects(attempt('a@x.io'), { name: 'Refusal', code: 'unavailable' })
  await assert.rejects(attempt('b@x.io'), { name: 'Refusal', code: 'unavailable' })
  assert.equal(await countUsers(db), 0)
  await db.transaction((tx) => addUser(tx, 'a@x.io'))
  assert.equal(await countUsers(db), 1)
})

plainTest('SQLite: the file is locked while it is open, so that no other program considers it unused', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux lists locks')
  const file = join(temporaryFolder(t), 'accounts.db')
  await migrate({ kind: 'sqlite', file })
  await open(t, { kind: 'sqlite', file })
  const { ino } = statSync(file)
  const locks = readFileSync('/proc/locks', 'utf8').split('\n')
  // Every SQLite connection holds a read lock on these bytes of the file.
  assert.ok(locks.some((line) => line.includes(`:${ino} 1073741826 1073742335`)))
})

test('concurrent session lookups each find their own user, and an unknown session finds none', async (t) => {
  const { db } = await migrated(t)
  const people = Array.from({ length: 450 }, (_, n) => ({ id: n + 1, session: `"${n}\\,{}` }))
  for (const { session } of people) await addUser(db, `${session}@x.io`)
  for (const { id, session } of people) await addSession(db, { id: session, userId: id, createdAt: 0, expiresAt: 1000 + id })
  const found = await Promise.all(people.map(({ id, session }) => findSessionUser(db, session, id, 1100)))
  assert.deepEqual(
    found.map((session) => session?.user.email),
    people.map(({ id, session }) => (id > 100 ? `${session}@x.io` : undefined)),
  )
  const others = await Promise.all(people.map(({ id, session }) => findSessionUser(db, session, id + 1, 0)))
  assert.deepEqual(new Set(others), new Set([undefined]))
})

const MARK = statement("update users set first_name = 'Mia', last_name = 'Moss', role = 'admin', plan = 'pro', passkeys = 2 where id = $1")

test('the caller of a request is read with each field in its place, by session and by key', async (t) => {
  const { db } = await migrated(t)
  const id = (await addUser(db, 'mia@x.io')) ?? assert.fail()
  await db.run(MARK, id)
  const user = { id, email: 'mia@x.io', firstName: 'Mia', lastName: 'Moss', role: 'admin', banned: false, verified: true }
  await addSession(db, { id: 'session', userId: id, createdAt: 500, expiresAt: 1000, secondFactor: false })
  assert.deepEqual(await findSessionUser(db, 'session', id, 600), { user, hasFactor: true, secondFactor: false, confirmedAt: 500 })
  const key = { id: 'key', name: 'one', isActive: true, createdAt: 1, access: 'read', scopes: ['a', 'b'], limit: '5/m' } as const
  await db.transaction((tx) => insertApiKey(tx, id, { ...key, expiresAt: 900, lastUsedAt: 700 }, 'hash'))
  assert.deepEqual(await findKeyOwner(db, 'hash'), {
    user,
    hasFactor: true,
    plan: 'pro',
    keyId: 'key',
    isActive: true,
    lastUsedAt: 700,
    access: 'read',
    scopes: ['a', 'b'],
    seq: 1,
    limit: '5/m',
    expiresAt: 900,
  })
  await db.transaction((tx) => insertApiKey(tx, id, { ...key, id: 'other', isActive: false, limit: undefined }, 'other'))
  const { isActive, lastUsedAt, limit, expiresAt } = (await findKeyOwner(db, 'other')) ?? assert.fail()
  assert.deepEqual([isActive, lastUsedAt, limit, expiresAt], [false, undefined, undefined, undefined])
})

test('unavailable: during an outage, each of many concurrent session lookups is refused', async (t) => {
  const { db } = await migrated(t)
  await db.close()
  const asked = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => findSessionUser(db, `session-${n}`, n, 0)))
  assert.deepEqual(new Set(asked.map((one) => one.status === 'rejected' && one.reason.code)), new Set(['unavailable']))
})

test('a statement outside a transaction is not part of it, and survives when the transaction is rolled back', async (t) => {
  const { db } = await migrated(t)
  const inside = gate()
  const decided = gate()
  const transaction = db.transaction(async (tx) => {
    await addUser(tx, 'inside@x.io')
    inside.open()
    await decided.opened
    throw new Refusal('email_taken')
  })
  await inside.opened
  const outside = addUser(db, 'outside@x.io')
  // A reader sees committed rows only, not the row inside the transaction.
  const seenMeanwhile = t.database === 'sqlite' ? await countUsers(db) : 0
  decided.open()
  await assert.rejects(transaction, { code: 'email_taken' })
  assert.ok((await outside) !== undefined)
  assert.deepEqual([seenMeanwhile, await countUsers(db)], [0, 1])
})

test('transactions that run at the same time do not mix', async (t) => {
  const { db } = await migrated(t)
  await addUser(db, 'a@x.io')
  const rounds = Array.from({ length: 20 }, (_, round) =>
    patiently(() =>
      db.transaction(async (tx) => {
        await tx.lock('admins')
        const written = await tx.first(RENAME, 1, `name ${round}`)
        await addUser(tx, `${round}@x.io`)
        if (round % 2 === 1) throw new Refusal('email_taken', 'every second one')
        return written?.first_name === `name ${round}`
      }),
    ),
  )
  const results = await Promise.allSettled(rounds)
  assert.deepEqual(
    results.map((result) => result.status === 'fulfilled' && result.value),
    rounds.map((_, round) => round % 2 === 0),
  )
  assert.equal(await countUsers(db), 11)
})

test('a lock excludes every other process until the transaction ends', async (t) => {
  const { db, target } = await migrated(t)
  const elsewhere = await open(t, target)
  const order: string[] = []
  const held = gate()
  const released = gate()
  const first = db.transaction(async (tx) => {
    await tx.lock('admins')
    held.open()
    await released.opened
    order.push('first')
  })
  await held.opened
  const second = elsewhere.transaction(async (tx) => {
    await tx.lock('admins')
    order.push('second')
  })
  // Long enough for the second transaction to finish, if the lock did not work.
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.deepEqual(order, [])
  released.open()
  await Promise.all([first, second])
  assert.deepEqual(order, ['first', 'second'])
})

test('a unique violation is distinguished from other errors', async (t) => {
  const { db } = await migrated(t)
  await addUser(db, 'a@x.io')
  const session = { id: 's', userId: 1, createdAt: 0, expiresAt: 0 }
  await addSession(db, session)
  await assert.rejects(addSession(db, session), UniqueViolation)
  await assert.rejects(addSession(db, { ...session, id: 'other', userId: 7 }), (error) => !(error instanceof UniqueViolation))
})

plainTest('an error of PostgreSQL about a value does not repeat the value', async (t) => {
  const target = await freshDatabase(t, 'postgres')
  await assert.rejects((await open(t, target)).first(AS_NUMBER, 'hunter22 "and more'), {
    message: 'PostgreSQL: invalid input syntax for type bigint: "[hidden]" (22P02)',
  })
})

test('an address is unique, whatever its case', async (t) => {
  const { db } = await migrated(t)
  const spellings = ['mia@x.io', 'Mia@x.io', 'MIA@X.IO', 'mIA@x.Io']
  const ids = await Promise.all(spellings.map((spelling) => addUser(db, emailKey(spelling))))
  assert.equal(ids.filter((id) => id !== undefined).length, 1)
  assert.equal(await countUsers(db), 1)
})

test('the id of a deleted user is never reused, not even after a restart', async (t) => {
  const { db, target } = await migrated(t)
  await addUser(db, 'a@x.io')
  const last = await addUser(db, 'b@x.io')
  assert.equal(await db.run(DELETE, last ?? 0), 1)
  await db.close()
  await migrate(target)
  const next = await addUser(await open(t, target), 'c@x.io')
  assert.ok((next ?? 0) > (last ?? 0))
})

test('every declared statement can be prepared on a migrated database', async (t) => {
  const repositories = readdirSync(STORAGE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.repository.ts'))
  assert.ok(repositories.length > 20)
  for (const name of repositories) await import(new URL(name, STORAGE).href)
  const { target } = await migrated(t)
  if (target.kind === 'sqlite') {
    const connection = new DatabaseSync(target.file)
    t.after(() => connection.close())
    for (const { sqliteSql } of declaredStatements()) connection.prepare(sqliteSql)
    return
  }
  const sql = postgres(target.url, { max: 1, fetch_types: false })
  t.after(() => sql.end())
  for (const { index, sql: text } of declaredStatements()) await sql.unsafe(`prepare statement_${index} as ${text}`)
})

test('a closed database is unavailable', async (t) => {
  const { db } = await migrated(t)
  await db.close()
  await assert.rejects(countUsers(db), { name: 'Refusal', code: 'unavailable' })
  await assert.rejects(addUser(db, 'a@x.io'), { name: 'Refusal', code: 'unavailable' })
})

plainTest('PostgreSQL: a transaction that ends after its deadline is rolled back, because its caller was refused', async (t) => {
  const { db } = await migrated(Object.assign(t, { database: 'postgres' as const }))
  const done = gate()
  const late = db.transaction(async (tx) => {
    await addUser(tx, 'a@x.io')
    await done.opened
  })
  await assert.rejects(late, { name: 'Refusal', code: 'unavailable' })
  done.open()
  // The address is free as soon as the transaction has ended; the second insert waits for that.
  assert.ok((await addUser(db, 'a@x.io')) !== undefined)
  assert.equal(await countUsers(db), 1)
})

plainTest('SQLite: if another process holds a lock too long, every waiting write is refused within one deadline', async (t) => {
  const { db, file } = await openFile(t)
  await holdLock(t, file)
  let measured = { waitedMs: 0, blockedMs: 0 }
  const isInTime = async () => {
    measured = await refuseWrites(t, db)
    return measured.waitedMs < 3000 && measured.blockedMs < 500
  }
  // A busy machine may stop this process for as long. Then it is measured again: a queue that waits too long does so each time.
  await until('all writes are refused in time', isInTime).catch((error) => assert.fail(`${error}: ${JSON.stringify(measured)}`))
})

/** Sends writes to a locked database. Returns how long they waited, and for how long the event loop was blocked meanwhile. */
async function refuseWrites(t: TestContext, db: Database): Promise<{ waitedMs: number; blockedMs: number }> {
  const longestPause = watchEventLoop(t)
  const startedAt = performance.now()
  const writes = [addUser(db, 'a@x.io'), addUser(db, 'b@x.io'), db.transaction((tx) => addUser(tx, 'c@x.io')), db.run(DELETE, 1)]
  // A read does not wait for a writer.
  assert.equal(await countUsers(db), 0)
  const results = await Promise.allSettled(writes)
  const waitedMs = performance.now() - startedAt
  for (const result of results) {
    assert.equal(result.status === 'rejected' && result.reason instanceof Refusal && result.reason.code, 'unavailable')
  }
  return { waitedMs, blockedMs: longestPause() }
}

plainTest('SQLite: if another process releases its lock in time, a write is delayed but succeeds', async (t) => {
  const { db, file } = await openFile(t)
  // On a busy machine, the other process may release it too late.
  const id = await patiently(async () => {
    const release = await holdLock(t, file)
    const write = addUser(db, 'a@x.io')
    setTimeout(release, 300)
    return write
  })
  assert.equal(id, 1)
})

async function openFile(t: TestContext): Promise<{ db: Database; file: string }> {
  const file = `${temporaryFolder(t)}/latchkey.db`
  await migrate({ kind: 'sqlite', file })
  return { db: await open(t, { kind: 'sqlite', file }), file }
}

/** Another process locks the file. Returns a function that ends the lock. */
async function holdLock(t: TestContext, file: string): Promise<() => void> {
  const holder = startNode(t, HOLD_LOCK, [file], { cwd: temporaryFolder(t) })
  if (holder.stdout) await once(holder.stdout, 'data')
  return () => holder.stdin?.end()
}

/** The longest time for which the event loop was blocked. */
function watchEventLoop(t: TestContext): () => number {
  let longestMs = 0
  let lastTick = performance.now()
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - lastTick)
    lastTick = performance.now()
  }, 5)
  t.after(() => clearInterval(timer))
  return () => longestMs
}
