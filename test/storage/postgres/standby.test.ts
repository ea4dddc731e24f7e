import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import postgres from 'postgres'
import { openPostgres } from '../../../src/storage/postgres/driver.ts'
import { migratePostgres } from '../../../src/storage/postgres/migrations.ts'
import { ping } from '../../../src/storage/repositories/operations/operations.repository.ts'
import { findSessionUser, insertSession } from '../../../src/storage/repositories/sessions/session.repository.ts'
import { insertUser, listUsersAfter } from '../../../src/storage/repositories/users/user.repository.ts'
import { until } from '../../support/app/eventually.ts'
import { TEST_SECRET } from '../../support/app/start-app.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { type PostgresServer, startPostgres } from '../../support/databases/postgres-server.ts'
import { MAIN, runNode } from '../../support/processes/processes.ts'

type Cluster = { readonly primary: PostgresServer; readonly standby: PostgresServer; readonly userId: number }

/** A primary with one session, and a standby that has it too. */
async function startCluster(t: TestContext): Promise<Cluster> {
  const primary = await startPostgres()
  t.after(() => primary.stop())
  await migratePostgres(primary.url)
  const db = openPostgres({ url: primary.url })
  const mia = { email: 'mia@x.io', emailKey: 'mia@x.io', firstName: 'Mia', lastName: 'Muster' }
  const userId = await db.transaction(async (tx) => {
    const id = (await insertUser(tx, { ...mia, passwordHash: '', role: 'user', verified: true, createdAt: 0 })) ?? 0
    await insertSession(tx, { id: 'session', userId: id, createdAt: 0, expiresAt: 1 })
    return id
  })
  await db.close()
  const standby = await primary.startStandby()
  t.after(() => standby.stop())
  const sql = postgres(standby.url, { max: 1, fetch_types: false })
  t.after(() => sql.end({ timeout: 0 }))
  await until('the standby has the session', async () => (await sql`select 1 from sessions`).length === 1)
  return { primary, standby, userId }
}

test('unavailable: a standby serves neither reads nor writes, whatever target_session_attrs says', async (t) => {
  const { standby, userId } = await startCluster(t)
  for (const query of ['', '?target_session_attrs=read-write', '?target_session_attrs=primary']) {
    const db = openPostgres({ url: standby.url + query })
    t.after(() => db.close())
    const expected = {
      code: 'unavailable',
      message: `PostgreSQL: the server at 127.0.0.1:${standby.port} is a standby; DATABASE_URL has to name the primary`,
    }
    const lookUp = () => findSessionUser(db, 'session', userId, 0)
    await assert.rejects(lookUp(), expected)
    await assert.rejects(ping(db), expected)
    await assert.rejects(
      db.transaction((tx) => findSessionUser(tx, 'session', userId, 0)),
      expected,
    )
    for (const outcome of await Promise.allSettled(Array.from({ length: 30 }, lookUp))) assert.equal(outcome.status, 'rejected')
  }
})

test('unavailable: behind a pooler, which may lead to another server each time, a standby refuses each statement', async (t) => {
  const { standby, userId } = await startCluster(t)
  const db = openPostgres({ url: `${standby.url}?pooler=transaction` })
  t.after(() => db.close())
  const expected = {
    code: 'unavailable',
    message: `PostgreSQL: the server at 127.0.0.1:${standby.port} is a standby; DATABASE_URL has to name the primary`,
  }
  await assert.rejects(findSessionUser(db, 'session', userId, 0), expected)
  await assert.rejects(findSessionUser(db, 'unknown', userId, 0), expected)
  await assert.rejects(listUsersAfter(db, 0, 100), expected)
  await assert.rejects(
    db.transaction((tx) => findSessionUser(tx, 'session', userId, 0)),
    { code: 'unavailable', message: 'PostgreSQL: recovery is in progress' },
  )
  await assert.rejects(ping(db), { code: 'unavailable' })
  await assert.rejects(migratePostgres(`${standby.url}?pooler=transaction`), { code: 'NOT_PRIMARY' })
})

test('a standby in a list of hosts is skipped within the same request', async (t) => {
  const { primary, standby, userId } = await startCluster(t)
  const db = openPostgres({ url: `postgres://postgres@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres` })
  t.after(() => db.close())
  assert.equal((await findSessionUser(db, 'session', userId, 0))?.user.email, 'mia@x.io')
  await ping(db)
  assert.deepEqual(await migratePostgres(`postgres://postgres@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres`), [])
  const pooled = openPostgres({
    url: `postgres://postgres@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres?pooler=transaction`,
  })
  t.after(() => pooled.close())
  assert.equal((await findSessionUser(pooled, 'session', userId, 0))?.user.email, 'mia@x.io')
})

test('a service whose DATABASE_URL names a standby or a read-only server does not start, and reports why in one line', async (t) => {
  const { primary, standby } = await startCluster(t)
  const sql = postgres(primary.url, { max: 1, fetch_types: false })
  t.after(() => sql.end({ timeout: 0 }))
  await sql`create database fenced`
  await sql`alter database fenced set default_transaction_read_only = on`
  for (const [url, reason] of [
    [standby.url, `the server at 127.0.0.1:${standby.port} is a standby; DATABASE_URL has to name the primary`],
    [primary.url.replace(/postgres$/, 'fenced'), 'it is read-only (default_transaction_read_only is on); the service has to write to it'],
  ] as const) {
    const { code, stderr } = await runNode(t, MAIN, [], {
      cwd: temporaryFolder(t),
      env: { SECRET_KEY: TEST_SECRET, DATABASE_URL: url },
    })
    assert.deepEqual([code, stderr], [1, `latchkey: DATABASE_URL: the PostgreSQL database cannot be used: ${reason}\n`])
  }
})

test('a standby that is promoted is used without a restart of the service', async (t) => {
  const { primary, standby, userId } = await startCluster(t)
  const db = openPostgres({ url: standby.url })
  t.after(() => db.close())
  await assert.rejects(ping(db), { code: 'unavailable' })
  await primary.end('SIGQUIT')
  const sql = postgres(standby.url, { max: 1, fetch_types: false })
  t.after(() => sql.end({ timeout: 0 }))
  await sql`select pg_promote()`
  await until('the promoted server accepts writes', () =>
    ping(db).then(
      () => true,
      () => false,
    ),
  )
  assert.equal((await findSessionUser(db, 'session', userId, 0))?.user.email, 'mia@x.io')
})
