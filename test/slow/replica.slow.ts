import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import postgres from 'postgres'
import { examine } from '../../src/doctor/examine.ts'
import { type Database, statement } from '../../src/storage/database.ts'
import { openPostgres } from '../../src/storage/postgres/driver.ts'
import { migratePostgres } from '../../src/storage/postgres/migrations.ts'
import { findSessionUser, insertSession } from '../../src/storage/repositories/sessions/session.repository.ts'
import { banUser, insertUser, listUsersAfter } from '../../src/storage/repositories/users/user.repository.ts'
import { eventually, until } from '../support/app/eventually.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { type PostgresServer, startPostgres } from '../support/databases/postgres-server.ts'
import { problems } from '../support/processes/doctor.ts'

const DEADLINE_MS = 60_000
const AWAY = 'the replica is more than 5 seconds behind'
const LATE = 'PostgreSQL did not respond within'

type Cluster = {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** Runs a statement on the standby, as its operator. */
  readonly onStandby: (sql: string) => Promise<unknown>
  readonly db: Database
  /** What the service was told about its replica. */
  readonly notices: string[]
}

async function startCluster(t: TestContext): Promise<Cluster> {
  const primary = await startPostgres()
  t.after(() => primary.stop())
  await migratePostgres(primary.url)
  const standby = await primary.startStandby()
  t.after(() => standby.stop())
  const sql = postgres(standby.url, { max: 1, fetch_types: false, onnotice: () => undefined })
  t.after(() => sql.end({ timeout: 0 }))
  const notices: string[] = []
  return { primary, standby, onStandby: (text) => sql.unsafe(text), db: open(t, primary, standby.url, notices), notices }
}

function open(t: TestContext, primary: PostgresServer, replicaUrl: string, notices: string[]): Database {
  const onReplicaAway = (reason: string) => void notices.push(reason)
  const db = openPostgres({ url: primary.url, replicaUrl }, { onReplicaAway, onReplicaBack: () => void notices.push('back') })
  t.after(() => db.close())
  return db
}

async function addUser(db: Database, name: string): Promise<number> {
  const email = `${name}@x.io`
  return db.transaction(async (tx) => {
    const user = { email, emailKey: email, firstName: name, lastName: '-', passwordHash: '', verified: true, createdAt: 0 }
    const id = (await insertUser(tx, { ...user, role: 'user' })) ?? 0
    await insertSession(tx, { id: name, userId: id, createdAt: 0, expiresAt: 1 })
    return id
  })
}

async function listed(db: Database): Promise<string[]> {
  return (await listUsersAfter(db.lists, 0, 100)).map(({ firstName }) => firstName)
}

/** On a busy machine, a replica may be left because it answers late, before anything else is found. */
function assertReason(notices: readonly string[], expected: string): void {
  const [reason = ''] = notices
  assert.equal(notices.length, 1)
  if (!reason.startsWith(LATE)) assert.equal(reason, expected)
}

/** Whether the service has a connection to the replica. */
async function isUsed({ onStandby }: Pick<Cluster, 'onStandby'>): Promise<boolean> {
  const found = await onStandby("select from pg_stat_activity where application_name = 'latchkey' and query like '%from users%'")
  return (found as unknown[]).length > 0
}

/** Lists are read from the replica, which has stopped at ada: bob is only on the primary. Returns the id of bob. */
async function stopReplicaAtAda({ db, onStandby, notices }: Cluster): Promise<number> {
  const hasCopied = async (count: number) => ((await onStandby('select 1 from users')) as unknown[]).length === count
  await addUser(db, 'ada')
  // A busy machine may stop the test for so long that the replica counts as lagging at once. Then it is tried again.
  return eventually('a list comes from the replica that has stopped', async () => {
    await until('the replica has caught up', () => hasCopied(1), DEADLINE_MS)
    // From here on the service knows that the replica is recent.
    await until('the replica is used', async () => (await listed(db)).length === 1 && (await isUsed({ onStandby })), DEADLINE_MS)
    await onStandby('select pg_wal_replay_pause()')
    const bob = await addUser(db, 'bob')
    const names = await listed(db)
    if (names.length === 1 && notices.length === 0) return bob
    await onStandby('select pg_wal_replay_resume()')
    await db.run(statement('delete from users where id = $1'), bob)
    await until('the replica is used again', async () => (await listed(db)).length === 1 && notices.at(-1) !== AWAY, DEADLINE_MS)
    notices.length = 0
    return undefined
  })
}

test('lists come from the replica, and who is calling from the primary; a replica that falls behind is not used', async (t) => {
  const cluster = await startCluster(t)
  const { db, notices, onStandby } = cluster
  const bob = await stopReplicaAtAda(cluster)
  await db.transaction((tx) => banUser(tx, bob))
  assert.equal((await findSessionUser(db, 'bob', bob, 0))?.user.banned, true)
  await until('the primary answers', async () => (await listed(db)).length === 2, DEADLINE_MS)
  await until('the lag is reported', async () => (await listed(db)).length === 2 && notices.length > 0, DEADLINE_MS)
  assertReason(notices, AWAY)
  await onStandby('select pg_wal_replay_resume()')
  await until('the replica is used again', async () => (await listed(db)).length === 2 && notices.length > 1, DEADLINE_MS)
  assert.equal(notices[1], 'back')
})

test('a replica is not used before it is known to be recent', async (t) => {
  const { db, onStandby, notices } = await startCluster(t)
  await onStandby('select pg_wal_replay_pause()')
  await addUser(db, 'ada')
  assert.deepEqual(await listed(db), ['ada'])
  assert.deepEqual(
    notices.filter((reason) => !reason.startsWith(LATE)),
    [],
  )
})

test('nothing fails because the replica stops, hangs or comes back', async (t) => {
  const cluster = await startCluster(t)
  const { db, standby, notices } = cluster
  await stopReplicaAtAda(cluster)
  standby.freeze()
  assert.deepEqual(await listed(db), ['ada', 'bob'])
  assert.equal(notices.length, 1)
  standby.thaw()
  await standby.end('SIGKILL')
  for (let round = 0; round < 20; round++) assert.deepEqual(await listed(db), ['ada', 'bob'])
  await standby.start()
  await until('the replica is used again', async () => (await listed(db)).length === 2 && notices.at(-1) === 'back', DEADLINE_MS)
})

test('a replica that was promoted is not used any more', async (t) => {
  const cluster = await startCluster(t)
  const { db, onStandby, notices } = cluster
  await stopReplicaAtAda(cluster)
  await onStandby('select pg_wal_replay_resume()')
  await onStandby('select pg_promote()')
  await onStandby("update users set first_name = 'mallory'")
  await until('the promotion is noticed', async () => (await listed(db)).length === 2 && notices.length > 0, DEADLINE_MS)
  assertReason(notices, 'the server of DATABASE_READ_URL is not a replica, or was promoted')
  assert.deepEqual(await listed(db), ['ada', 'bob'])
})

test('of several hosts in DATABASE_READ_URL, the one that is a replica is found', async (t) => {
  const { primary, standby, onStandby } = await startCluster(t)
  const db = open(t, primary, `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`, [])
  await addUser(db, 'ada')
  await until('the replica is used', async () => (await listed(db)).length === 1 && (await isUsed({ onStandby })), DEADLINE_MS)
})

test('a server that is no replica of this database is not used', async (t) => {
  const { primary, db } = await startCluster(t)
  await addUser(db, 'ada')
  const other = await startPostgres()
  t.after(() => other.stop())
  await migratePostgres(other.url)
  const otherReplica = await other.startStandby()
  t.after(() => otherReplica.stop())
  const cases: [url: string, notice: string][] = [
    [primary.url, 'the server of DATABASE_READ_URL is not a replica, or was promoted'],
    [otherReplica.url, 'the server of DATABASE_READ_URL is a replica of another database'],
  ]
  for (const [url, notice] of cases) {
    const notices: string[] = []
    assert.deepEqual(await listed(open(t, primary, url, notices)), ['ada'])
    assertReason(notices, notice)
    const settings = { DATABASE_URL: primary.url, DATABASE_READ_URL: url, SECRET_KEY: TEST_SECRET, PORT: '0' }
    await until('doctor reports it', async () => problems(await examine(settings), 'replica').includes(`warning: ${notice}`), DEADLINE_MS)
  }
})
