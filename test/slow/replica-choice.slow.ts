import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import postgres from 'postgres'
import { type Database, declaredStatements } from '../../src/storage/database.ts'
import { openPostgres } from '../../src/storage/postgres/driver.ts'
import { migratePostgres } from '../../src/storage/postgres/migrations.ts'
import { demandingPosition } from '../../src/storage/postgres/queries.ts'
import { insertUser, listUsersAfter } from '../../src/storage/repositories/users/user.repository.ts'
import { until } from '../support/app/eventually.ts'
import { type PostgresServer, startPostgres } from '../support/databases/postgres-server.ts'
import '../../src/services.ts'
import { startRawPeer } from '../support/servers/listen.ts'

const DEADLINE_MS = 60_000

type Node = { readonly server: PostgresServer; run(sql: string): Promise<readonly unknown[]> }

/** A primary and two standbys that follow it. */
async function startNodes(t: TestContext): Promise<readonly [Node, Node, Node]> {
  const primary = await startPostgres()
  t.after(() => primary.stop())
  await migratePostgres(primary.url)
  const standbys = [await primary.startStandby(), await primary.startStandby()] as const
  for (const standby of standbys) t.after(() => standby.stop())
  const node = (server: PostgresServer): Node => {
    const sql = postgres(server.url, { max: 1, fetch_types: false, onnotice: () => undefined })
    t.after(() => sql.end({ timeout: 0 }))
    return { server, run: (text) => sql.unsafe(text) }
  }
  return [node(primary), node(standbys[0]), node(standbys[1])]
}

function open(t: TestContext, url: string, replicaUrl?: string, notices: string[] = []): Database {
  const db = openPostgres(
    { url, ...(replicaUrl !== undefined && { replicaUrl }) },
    { onReplicaAway: (reason) => void notices.push(reason) },
  )
  t.after(() => db.close())
  return db
}

async function addUser(db: Database, name: string): Promise<void> {
  const email = `${name}@x.io`
  const user = {
    email,
    emailKey: email,
    firstName: name,
    lastName: '-',
    passwordHash: '',
    verified: true,
    createdAt: 0,
    role: 'user',
  } as const
  await db.transaction((tx) => insertUser(tx, user))
}

async function listed(db: Database): Promise<string[]> {
  return (await listUsersAfter(db.lists, 0, 100)).map(({ firstName }) => firstName)
}

const untilUsers = ({ run }: Node, count: number) =>
  until(`the standby has ${count} users`, async () => (await run('select from users')).length === count, DEADLINE_MS)

test('a replica with writes that were lost in a failover is not used', async (t) => {
  const [former, promoted, diverged] = await startNodes(t)
  const formerDb = open(t, former.server.url)
  await addUser(formerDb, 'ada')
  for (const node of [promoted, diverged]) await untilUsers(node, 1)
  await promoted.run('select pg_promote()')
  // Each of them ends a segment of the log, so the new primary is far behind.
  for (const name of ['lost', 'lost-too', 'lost-as-well']) {
    await addUser(formerDb, name)
    await former.run('select pg_switch_wal()')
  }
  await untilUsers(diverged, 4)
  const notices: string[] = []
  const db = open(t, promoted.server.url, diverged.server.url, notices)
  for (let round = 0; round < 5; round++) assert.deepEqual(await listed(db), ['ada'])
  const [reason = ''] = notices
  // On a busy machine, the replica may answer too late.
  if (!reason.startsWith('PostgreSQL did not respond within'))
    assert.equal(reason, 'the server of DATABASE_READ_URL has writes that the primary does not have')
})

/** A pooler that leads each new connection to the chosen server. */
async function startPooler(t: TestContext, port: number): Promise<{ readonly url: string; pointTo(port: number): void }> {
  let target = port
  const { port: own } = await startRawPeer(t, (client) => {
    const server = connect(target, '127.0.0.1')
    client.pipe(server).pipe(client)
    server.on('error', () => undefined)
    client.on('close', () => server.destroy())
  })
  return {
    url: `postgres://postgres@127.0.0.1:${own}/postgres?pooler=transaction`,
    pointTo(next) {
      target = next
    },
  }
}

test('a pooler that leads to another replica, which is behind the one that was checked, does not make a list older', async (t) => {
  const [primary, current, behind] = await startNodes(t)
  const pooler = await startPooler(t, current.server.port)
  const db = open(t, primary.server.url, pooler.url)
  await behind.run('select pg_wal_replay_pause()')
  await addUser(db, 'ada')
  await untilUsers(current, 1)
  const isUsed = async () =>
    (await current.run("select from pg_stat_activity where application_name = 'latchkey' and query like '%from users%'")).length > 0
  await until('the replica is used', async () => (await listed(db)).length === 1 && (await isUsed()), DEADLINE_MS)
  pooler.pointTo(behind.server.port)
  // Several at once need new connections.
  for (const names of await Promise.all(Array.from({ length: 8 }, () => listed(db)))) assert.deepEqual(names, ['ada'])
})

test('a pooler that leads to a server that was promoted does not bring its rows into a list', async (t) => {
  const [primary, current, promoted] = await startNodes(t)
  const pooler = await startPooler(t, current.server.port)
  const db = open(t, primary.server.url, pooler.url)
  await addUser(db, 'ada')
  await untilUsers(current, 1)
  await untilUsers(promoted, 1)
  const isUsed = async () =>
    (await current.run("select from pg_stat_activity where application_name = 'latchkey' and query like '%from users%'")).length > 0
  await until('the replica is used', async () => (await listed(db)).length === 1 && (await isUsed()), DEADLINE_MS)
  await promoted.run('select pg_promote(true)')
  await promoted.run("update users set first_name = 'eve'")
  pooler.pointTo(promoted.server.port)
  // Several at once need new connections.
  for (const names of await Promise.all(Array.from({ length: 8 }, () => listed(db)))) assert.deepEqual(names, ['ada'])
})

test('the condition that demands a position can be added to every read of the service, and fails on a server that has not reached it or was promoted', async (t) => {
  const [primary, standby] = await startNodes(t)
  for (const [index, { sql, isRead }] of declaredStatements().entries()) {
    if (!isRead || /\bfor (?:no key )?update\b/i.test(sql)) continue
    const parameters = [...sql.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number))
    await primary.run(`prepare checked_${index} as ${demandingPosition(sql, Math.max(0, ...parameters) + 1)}`)
  }
  const read = (lsn: string) => standby.run(demandingPosition('select id from instance', 1).replace('$1', `'${lsn}'`))
  assert.equal((await read('0/0')).length, 1)
  await assert.rejects(read('FFFFFFFF/0'), { code: '22012' })
  await standby.run('select pg_promote(true)')
  await assert.rejects(read('0/0'), { code: '22012' })
})
