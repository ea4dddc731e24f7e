import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import postgres from 'postgres'
import { eventually, until } from '../support/app/eventually.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { type PostgresServer, SERVER_ACCOUNT, startPostgres } from '../support/databases/postgres-server.ts'
import { newEmail } from '../support/http/requests.ts'
import { missing, type ServiceUnderTest, signIn, WITH_MEMBER } from '../support/load/outage.ts'
import { ask, EXPECTED_STATUSES, registration, startTraffic, type TimedResponse, tally } from '../support/load/traffic.ts'
import { type Finished, LATCHKEY, runNode } from '../support/processes/processes.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { freePort } from '../support/servers/free-port.ts'
import { adapted } from '../support/servers/front-proxies.ts'
import { type SmtpPeer, startSmtpPeer } from '../support/servers/smtp-peer.ts'

type PgBouncer = {
  readonly port: number
  /** Runs a command of its admin console, such as `PAUSE`. */
  command(text: string): Promise<readonly Record<string, unknown>[]>
  /** Replaces the server behind it, without a restart. */
  pointTo(serverPort: number): Promise<void>
  /** Kills it, as a crash would. */
  kill(): Promise<void>
  /** Starts it again on the same port. */
  start(): Promise<void>
}

const PATH = `${process.env['PATH']}:/usr/sbin`
const START_DEADLINE_MS = 60_000

const HAS_PGBOUNCER = spawnSync('pgbouncer', ['--version'], { env: { ...process.env, PATH } }).status === 0

/** Starts PgBouncer with deploy/pgbouncer.ini, but with two connections to its server. It stops when the test ends. */
async function startPgBouncer(t: TestContext, serverPort: number): Promise<PgBouncer> {
  const folder = temporaryFolder(t)
  const [port, file] = [await freePort(), join(folder, 'pgbouncer.ini')]
  const configure = (toPort: number) => writeFileSync(file, configuration(port, toPort))
  configure(serverPort)
  // PgBouncer refuses to run as root.
  if (SERVER_ACCOUNT) for (const path of [folder, file]) chownSync(path, SERVER_ACCOUNT.uid, SERVER_ACCOUNT.gid)
  let child = launch()
  let output = ''
  t.after(() => child.kill('SIGKILL'))
  await untilReady()

  function launch(): ChildProcess {
    const started = spawn('pgbouncer', [file], { ...SERVER_ACCOUNT, cwd: folder, env: { ...process.env, PATH } })
    for (const stream of [started.stdout, started.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    return started
  }

  async function command(text: string): Promise<readonly Record<string, unknown>[]> {
    const url = `postgres://postgres@127.0.0.1:${port}/pgbouncer`
    const sql = postgres(url, { max: 1, fetch_types: false, prepare: false, onnotice: () => undefined })
    try {
      return await sql.unsafe(text).simple()
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  async function untilReady(): Promise<void> {
    await until(
      'PgBouncer answers',
      async () => {
        if (child.exitCode !== null) throw new Error(`pgbouncer exited: ${output}`)
        return command('SHOW VERSION').then(
          () => true,
          () => false,
        )
      },
      START_DEADLINE_MS,
    )
  }

  return {
    port,
    command,
    async pointTo(otherPort) {
      configure(otherPort)
      await command('RELOAD')
      await command('RECONNECT')
    },
    async kill() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
    async start() {
      child = launch()
      await untilReady()
    },
  }
}

function configuration(port: number, serverPort: number): string {
  return adapted('pgbouncer.ini', {
    'latchkey = host=10.0.0.21 port=5432 dbname=latchkey': `postgres = host=127.0.0.1 port=${serverPort} dbname=postgres user=postgres`,
    'listen_port = 6432': `listen_port = ${port}`,
    'auth_type = scram-sha-256': 'auth_type = any',
    'auth_file = /etc/pgbouncer/userlist.txt': 'admin_users = postgres\nunix_socket_dir =',
    'default_pool_size = 10': 'default_pool_size = 2',
  })
}

const WITH_PGBOUNCER = { skip: HAS_PGBOUNCER ? false : 'NOT RUN: pgbouncer is not installed' }
const AT_ONCE = 30
const HASHES_AT_ONCE = 8
const ROUNDS = 15
const EVERY_MS = 100
const DEADLINE_MS = 60_000

type Scene = ServiceUnderTest & {
  readonly server: PostgresServer
  readonly pooler: PgBouncer
  readonly peer: SmtpPeer
  /** A second process of the service on the same database. */
  readonly otherUrl: string
  /** A connection to the database that does not use the pooler. */
  readonly sql: postgres.Sql
  latchkey(...args: string[]): Promise<Finished>
}

/** Two services of up to twelve connections each, behind a pooler that has two. Both migrate the database through it at the same time. */
async function setScene(t: TestContext): Promise<Scene> {
  const server = await startPostgres()
  t.after(() => server.stop())
  const pooler = await startPgBouncer(t, server.port)
  t.diagnostic(String((await pooler.command('SHOW VERSION'))[0]?.['version']))
  const peer = await startSmtpPeer(t)
  const DATABASE_URL = `postgres://postgres@127.0.0.1:${pooler.port}/postgres?pooler=transaction`
  const env = { DATABASE_URL, SMTP_URL: peer.url, LOG_LEVEL: 'warn', ...WITH_MEMBER }
  const [service, other] = await Promise.all([startProcess(t, env), startProcess(t, env)])
  const sql = postgres(server.url, { max: 1, onnotice: () => undefined })
  t.after(() => sql.end({ timeout: 1 }))
  const emails = async () => (await sql<{ email: string }[]>`select email from users`).map(({ email }) => email)
  const latchkey = (...args: string[]) =>
    runNode(t, LATCHKEY, args, { cwd: temporaryFolder(t), env: { DATABASE_URL, SECRET_KEY: TEST_SECRET } })
  return { server, pooler, peer, service, otherUrl: other.url, member: await signIn(service.url), sql, emails, latchkey }
}

/** A busy machine may make the service refuse a request, which is then repeated. */
function persist(send: () => Promise<TimedResponse>): Promise<TimedResponse> {
  return eventually('a request is not answered with 503', async () => {
    const answer = await send()
    return answer.status === 503 ? undefined : answer
  })
}

/** Sends a request many times at once, to both services. Returns the statuses and their counts. */
async function manyTimes({ service, otherUrl }: Scene, count: number, send: (url: string) => Promise<TimedResponse>): Promise<string> {
  const urls = Array.from({ length: count }, (_, index) => (index % 2 === 0 ? service.url : otherUrl))
  return tally(await Promise.all(urls.map((url) => persist(() => send(url)))))
}

async function registered(url: string): Promise<{ id: string; email: string; refresh: string; headers: { authorization: string } }> {
  const email = newEmail()
  const { status, body } = await persist(() => ask(url, 'POST', '/register/', registration(email)))
  assert.equal(status, 201)
  const { token, refresh } = body as { token: string; refresh: string }
  const { sub } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sub: string }
  return { id: sub, email, refresh, headers: { authorization: `Bearer ${token}` } }
}

test('the service works through PgBouncer in transaction mode', WITH_PGBOUNCER, async (t) => {
  const scene = await setScene(t)
  const { service, otherUrl, member, sql, peer, latchkey, emails } = scene
  const mia = await registered(service.url)
  await latchkey('user', 'verify', mia.id)

  await t.test('200: look-ups, refreshes and changes of one account at the same time', async () => {
    const me = (url: string) => ask(url, 'GET', '/users/me', undefined, mia.headers)
    assert.equal(await manyTimes(scene, AT_ONCE, me), `200: ${AT_ONCE}`)
    const refresh = (url: string) => ask(url, 'POST', '/refresh/', { refresh: mia.refresh })
    assert.equal(await manyTimes(scene, AT_ONCE, refresh), `200: ${AT_ONCE}`)
    const rename = (url: string) => ask(url, 'PUT', `/users/${mia.id}`, { first_name: 'Mia' }, mia.headers)
    assert.equal(await manyTimes(scene, AT_ONCE, rename), `200: ${AT_ONCE}`)
    const list = (url: string) => ask(url, 'GET', '/users/search?search_term=mia', undefined, member)
    assert.equal(await manyTimes(scene, AT_ONCE, list), `200: ${AT_ONCE}`)
  })

  await t.test('an address that is registered many times at once has one account', async () => {
    const email = newEmail()
    await manyTimes(scene, HASHES_AT_ONCE, (url) => ask(url, 'POST', '/register/', registration(email)))
    assert.equal((await emails()).filter((found) => found === email).length, 1)
  })

  await t.test('401: a ban in one process applies to the very next request in the other', async () => {
    const me = async () => (await persist(() => ask(otherUrl, 'GET', '/users/me', undefined, mia.headers))).status
    for (let round = 0; round < ROUNDS; round++) {
      await sql`update users set banned = false where id = ${mia.id}`
      assert.equal(await me(), 200)
      await sql`update users set banned = true where id = ${mia.id}`
      assert.equal(await me(), 401)
    }
  })

  await t.test('every mail is sent once, although two dispatchers lease them', async () => {
    const before = peer.deliveries.length
    const accounts: string[] = []
    for (const url of [service.url, otherUrl, service.url, otherUrl]) accounts.push((await registered(url)).email)
    await until('the outbox is empty', async () => (await sql`select from outbox`).length === 0, DEADLINE_MS)
    const sent = peer.deliveries.slice(before).map(({ to }) => String(to))
    assert.deepEqual(sent.filter((to) => accounts.includes(to)).sort(), accounts.sort())
  })

  await t.test('the audit trail is sealed, and can be verified', async () => {
    const unsealed = () => sql`select from events where not exists (select from event_seals where event_seals.event_id = events.id)`
    await until('all events are sealed', async () => (await unsealed()).length === 0, DEADLINE_MS)
    const { code, stdout } = await latchkey('audit', 'verify')
    assert.equal(code, 0, stdout)
  })

  await t.test('doctor reports the settings that the role should have', async () => {
    const findings = async () => (await latchkey('doctor')).stdout.match(/^\w+ +(?:database|schema|clock|pooler) .*(?:\n +→.*)?/gm)
    assert.match((await findings())?.join('\n') ?? '', /idle_in_transaction_session_timeout, jit, statement_timeout\n.*alter role ROLE set/)
    await sql`alter role postgres set statement_timeout = '5s'`
    await sql`alter role postgres set idle_in_transaction_session_timeout = '10s'`
    await sql`alter role postgres set jit = off`
    await scene.pooler.command('RECONNECT')
    await until('all is well', async () => (await findings())?.every((finding) => finding.startsWith('ok')) ?? false, DEADLINE_MS)
  })
})

test('doctor recognises a pooler that DATABASE_READ_URL does not name', WITH_PGBOUNCER, async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const pooler = await startPgBouncer(t, server.port)
  const replicaUrl = `postgres://postgres@127.0.0.1:${pooler.port}/postgres`
  const env = { DATABASE_URL: server.url, DATABASE_READ_URL: replicaUrl, SECRET_KEY: TEST_SECRET }
  const latchkey = (...args: string[]) => runNode(t, LATCHKEY, args, { cwd: temporaryFolder(t), env })
  await latchkey('migrate')
  const { stdout } = await latchkey('doctor')
  assert.match(stdout, /replica .*127\.0\.0\.1:\d+ is a connection pooler .*add pooler=transaction to the query of the URL/)
})

type PoolerOutage = { begin(scene: Scene): Promise<unknown>; end(scene: Scene): Promise<unknown> }

const OUTAGES: Record<string, PoolerOutage> = {
  'PgBouncer is paused and resumed': { begin: ({ pooler }) => pooler.command('PAUSE'), end: ({ pooler }) => pooler.command('RESUME') },
  'PgBouncer is killed and started again': { begin: ({ pooler }) => pooler.kill(), end: ({ pooler }) => pooler.start() },
  'PostgreSQL is restarted behind PgBouncer': { begin: ({ server }) => server.end('SIGINT'), end: ({ server }) => server.start() },
}

test('an outage of the pooler: 503, recovery without a restart, nothing lost', WITH_PGBOUNCER, async (t) => {
  const scene = await setScene(t)
  for (const [name, outage] of Object.entries(OUTAGES)) await t.test(`503: ${name}`, (step) => endure(step, scene, outage))
})

/** Sends traffic before, during and after an outage. Nothing is timed, so that a busy machine changes nothing. */
async function endure(t: TestContext, scene: Scene, outage: PoolerOutage): Promise<void> {
  const { service, member, emails } = scene
  const traffic = startTraffic(t, service.url, EVERY_MS, member)
  const served = (what: string, since: number) =>
    traffic.answers.some((answer) => answer.what === what && answer.atMs > since && answer.status === EXPECTED_STATUSES[what])
  const isServing = (since: number) => Object.keys(EXPECTED_STATUSES).every((what) => served(what, since))
  await until('each kind of request is served', () => isServing(0), DEADLINE_MS)
  await outage.begin(scene)
  const beganAt = performance.now()
  const refused = () => traffic.answers.filter(({ what, status, atMs }) => what === 'GET /users/me' && status === 503 && atMs > beganAt)
  await until('requests are refused', () => refused().length > 2, DEADLINE_MS)
  await outage.end(scene)
  const endedAt = performance.now()
  await until('each kind of request is served again', () => isServing(endedAt), DEADLINE_MS)
  await traffic.stop()
  assert.equal(service.process.exitCode, null, 'the process is running')
  const wrong = traffic.answers.filter(({ what, status }) => status !== 503 && status !== EXPECTED_STATUSES[what])
  assert.deepEqual(wrong, [], 'every response is 503 or correct')
  assert.deepEqual(missing(await emails(), traffic.registered), [], 'acknowledged registrations are stored')
  t.diagnostic(
    `${traffic.answers.length} requests (${tally(traffic.answers)}); ${traffic.registered.length} acknowledged registrations, 0 lost`,
  )
}

test('503: a standby behind the pooler never identifies a caller', WITH_PGBOUNCER, async (t) => {
  const scene = await setScene(t)
  const { service, server, pooler, member } = scene
  const standby = await server.startStandby()
  t.after(() => standby.stop())
  const copy = postgres(standby.url, { max: 1, fetch_types: false })
  t.after(() => copy.end({ timeout: 0 }))
  await until('the standby has the session', async () => (await copy`select from sessions`).length > 0, DEADLINE_MS)
  const me = async () => (await ask(service.url, 'GET', '/users/me', undefined, member)).status
  await until('the service has noticed the restart', async () => (await me()) === 200, DEADLINE_MS)
  await pooler.pointTo(standby.port)
  const isAsked = async () => (await copy`select from pg_stat_activity where application_name = 'latchkey'`).length > 0
  await until('the service asks the standby', async () => (await me()) === 503 && isAsked(), DEADLINE_MS)
  for (let round = 0; round < ROUNDS; round++) assert.equal(await me(), 503)
  await pooler.pointTo(server.port)
  await until('the primary serves again', async () => (await me()) === 200, DEADLINE_MS)
})
