import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { codeAt } from '../../src/security/totp.ts'
import { eventually, until } from '../support/app/eventually.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { type PostgresServer, startPostgres } from '../support/databases/postgres-server.ts'
import { newEmail } from '../support/http/requests.ts'
import {
  assertResponses,
  missing,
  type Outage,
  READS,
  RECOVERY_MS,
  RESPONSE_MS,
  runOutage,
  type ServiceUnderTest,
  signIn,
  slowest,
  startControlService,
  untilServing,
  WITH_MEMBER,
  withEverything,
} from '../support/load/outage.ts'
import { assertRecorded, assertReported, assertSealed } from '../support/load/reported-events.ts'
import { ask, askPatiently, registration, startTraffic, tally } from '../support/load/traffic.ts'
import { scaled } from '../support/processes/scale.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { type BrokenProxy, startBrokenProxy } from '../support/servers/broken-proxy.ts'
import { startSmtpPeer } from '../support/servers/smtp-peer.ts'

const ALL_CONNECTIONS = 20
const DELIVERY_MS = 120_000

type Scene = ServiceUnderTest & {
  readonly server: PostgresServer
  readonly proxy: BrokenProxy
  /** A connection to the database that does not use the proxy. */
  readonly sql: postgres.Sql
}

async function setScene(
  t: TestContext,
  settings: readonly string[] = [],
  env: Readonly<Record<string, string>> = WITH_MEMBER,
): Promise<Scene> {
  const server = await startPostgres(settings)
  t.after(() => server.stop())
  const proxy = await startBrokenProxy(t, server.port)
  const peer = await startSmtpPeer(t)
  const service = await startProcess(t, {
    DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/postgres`,
    SMTP_URL: peer.url,
    LOG_LEVEL: 'warn',
    ...env,
  })
  const sql = postgres(server.url, { max: 1, onnotice: () => undefined })
  t.after(() => sql.end({ timeout: 1 }))
  await sql`select 1`
  const emails = async () => (await sql<{ email: string }[]>`select email from users`).map(({ email }) => email)
  return { server, proxy, service, member: await signIn(service.url), sql, emails }
}

const OUTAGES: Record<string, (scene: Scene) => Outage> = {
  'PostgreSQL is stopped and started again': ({ server }) => ({ begin: () => server.end('SIGINT'), end: () => server.start() }),
  'PostgreSQL is shut down immediately and recovers from its log': ({ server }) => ({
    begin: () => server.end('SIGQUIT'),
    end: () => server.start(),
  }),
  'PostgreSQL hangs and continues': ({ server }) => ({ begin: () => server.freeze(), end: () => server.thaw() }),
  'the network drops all packets and recovers': ({ proxy }) => ({
    begin: () => proxy.set('blackhole'),
    end: () => proxy.set('open'),
  }),
  'the network rejects all connections and recovers': ({ proxy }) => ({ begin: () => proxy.set('closed'), end: () => proxy.set('open') }),
  'PostgreSQL is read-only and writable again': ({ sql }) => {
    const setReadOnly = async (value: 'on' | 'off') => {
      // Open sessions apply it too.
      await sql.unsafe(`alter system set default_transaction_read_only = ${value}`)
      await sql`select pg_reload_conf()`
    }
    return {
      mustPass: READS,
      begin: () => setReadOnly('on'),
      async end() {
        await sql`set default_transaction_read_only = off`
        await setReadOnly('off')
      },
    }
  },
}

test('an outage of the database: 503 in time, heartbeats throughout, recovery without a restart, nothing lost', async (t) => {
  const scene = await setScene(t)
  for (const [name, createOutage] of Object.entries(OUTAGES)) {
    await t.test(`503: ${name}`, (step) => runOutage(step, scene, createOutage(scene)))
  }
  await t.test('connections terminated repeatedly: every response is 503 or correct, nothing is lost', (step) => terminate(step, scene))
  for (const text of ['begin', 'insert into users', 'insert into outbox', 'insert into sessions', 'commit']) {
    for (const when of ['before', 'after'] as const)
      await t.test(`503: a registration cut ${when} the server receives "${text}" is stored completely or not at all`, (step) =>
        cutAt(step, scene, text, when),
      )
  }
})

test('503: a second step that is cut opens a session and uses its code up, or does neither', async (t) => {
  const scene = await setScene(t)
  await enrolMember(scene)
  for (const text of [
    'update login_challenges',
    'delete from recovery_codes',
    'delete from login_challenges',
    'insert into sessions',
    'commit',
  ]) {
    for (const when of ['before', 'after'] as const)
      await t.test(`cut ${when} the server receives "${text}"`, () => cutSecondStep(scene, text, when))
  }
})

test('connections terminated repeatedly while everything that is off by default is on: every change has its event and its webhook', async (t) => {
  const { receiver, env } = await withEverything(t)
  const scene = await setScene(t, [], env)
  await terminate(t, scene)
  const rows = async (sql: string) => [...(await scene.sql.unsafe(sql))]
  await assertRecorded(rows)
  // A webhook whose attempt was interrupted stays leased for a while.
  await rows('update webhook_deliveries set due_at = 0, lease = null returning id')
  const reported = await assertReported(receiver, rows, DELIVERY_MS)
  const sealed = await assertSealed(t, temporaryFolder(t), { DATABASE_URL: scene.server.url })
  t.diagnostic(`${sealed} sealed events; ${reported} events in ${receiver.received.length} webhooks`)
})

test('503: other clients use all connections of the server, and release them', async (t) => {
  const scene = await setScene(t, [`max_connections=${ALL_CONNECTIONS}`, 'superuser_reserved_connections=0'])
  const others = takeAllConnections(scene.server.port)
  t.after(() => others.release())
  const countOthers = async () =>
    (await scene.sql`select from pg_stat_activity where backend_type = 'client backend' and application_name <> 'latchkey'`).length
  await runOutage(t, scene, {
    async begin() {
      await until('all connections are taken', async () => {
        await scene.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'latchkey'`
        return (await countOthers()) === ALL_CONNECTIONS
      })
    },
    async end() {
      others.release()
      // A server process ends a moment after its connection. Until then, the service is refused another one now and then.
      await until('only the connection that asks is left', async () => (await countOthers()) === 1)
    },
  })
})

/** Other clients: as many as the server has connections, and each asks again until it gets one. No driver, so that none connects again after the release. */
function takeAllConnections(port: number): { release(): void } {
  const sockets = new Set<Socket>()
  let isOver = false
  function take(): void {
    if (isOver) return
    const socket = connect(port, '127.0.0.1', () => socket.write(startMessage('postgres')))
    sockets.add(socket.resume())
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      setTimeout(take, 5)
    })
  }
  for (let index = 0; index < ALL_CONNECTIONS; index++) take()
  return {
    release() {
      isOver = true
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** The first message of a client: its length, version 3.0 of the protocol, and the user, whose database has the same name. */
function startMessage(user: string): Buffer {
  const body = Buffer.from(`\0\x03\0\0user\0${user}\0\0`)
  const length = Buffer.alloc(4)
  length.writeInt32BE(4 + body.length)
  return Buffer.concat([length, body])
}

/** Terminates all connections repeatedly: the process keeps running, responses are correct, no acknowledged write and no half of a transaction is lost. */
async function terminate(t: TestContext, { service, member, sql, emails }: Scene): Promise<void> {
  const rounds = scaled(40, 400)
  const control = await startControlService(t)
  const traffic = startTraffic(t, service.url, 60, member)
  let terminated = 0
  for (let round = 0; round < rounds; round++) {
    await sleep(20 + Math.random() * 60)
    const rows = await sql<{ ended: boolean }[]>`
      select pg_terminate_backend(pid) as ended from pg_stat_activity where application_name = 'latchkey'`
    terminated += rows.length
  }
  const recoveryMs = await untilServing(service.url, performance.now())
  await traffic.stop()
  const machineMs = await control.slowestMs()
  assert.equal(service.process.exitCode, null, 'the process is running')
  assertResponses(traffic.answers, machineMs)
  assert.ok(recoveryMs <= RECOVERY_MS + machineMs, `${recoveryMs} ms`)
  assert.deepEqual(missing(await emails(), traffic.registered), [])
  assert.deepEqual(await incompleteRegistrations(sql), [], 'no account without its session')
  t.diagnostic(
    `${terminated} connections terminated in ${rounds} rounds; ${traffic.answers.length} requests (${tally(traffic.answers)}), ${slowest(traffic.answers)}; ` +
      `serving again after ${Math.round(recoveryMs)} ms; ${traffic.registered.length} acknowledged registrations, 0 lost`,
  )
}

/** The addresses of accounts without a session: a registration creates a user, a session and a mail, or nothing. */
async function incompleteRegistrations(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ email: string }[]>`
    select email from users where not exists (select from sessions where sessions.user_id = users.id)`
  return rows.map(({ email }) => email)
}

async function cutAt(t: TestContext, { proxy, service, sql }: Scene, text: string, when: 'before' | 'after'): Promise<void> {
  // The text of a prepared statement is sent only once per connection, so the test needs new connections.
  proxy.cutAll()
  await untilServing(service.url, performance.now())
  proxy.cutAll()
  const register = async () => {
    const cutsBefore = proxy.cuts()
    proxy.cutAt(text, when)
    const email = newEmail()
    const answer = await ask(service.url, 'POST', '/register/', registration(email))
    return { email, answer, isCut: proxy.cuts() > cutsBefore }
  }
  // A request on an old connection fails before it is cut, and a transaction of the sealer may be cut in place of the registration.
  const { email, answer } = await eventually('a registration is cut', async () => {
    const attempt = await register()
    if (attempt.isCut && attempt.answer.status !== 201) return attempt
    if (attempt.answer.status === 201) proxy.cutAll()
    return undefined
  })
  assert.deepEqual({ status: answer.status, body: answer.body }, { status: 503, body: { detail: 'Service Unavailable' } })
  assert.ok(answer.tookMs < RESPONSE_MS)
  const recoveryMs = await untilServing(service.url, performance.now())
  assert.ok(recoveryMs < RECOVERY_MS)
  assert.equal(service.process.exitCode, null)
  const found = await sql`select id from users where email = ${email}`
  // A commit whose response was lost may have happened or not; both are correct.
  if (text !== 'commit' || when !== 'after') assert.equal(found.length, 0)
  assert.deepEqual(await incompleteRegistrations(sql), [])
  t.diagnostic(
    `answered 503 after ${Math.round(answer.tookMs)} ms; ${found.length} rows of it in the database; serving after ${Math.round(recoveryMs)} ms`,
  )
}

/** Turns codes from an app on for the member of the scene. */
async function enrolMember({ service, member }: Scene): Promise<void> {
  const path = '/users/me/second-factor/totp'
  const { secret } = (await askPatiently(service.url, 'POST', path, undefined, member)).body as { secret: string }
  const code = codeAt(secret, Math.floor(Date.now() / 30_000))
  const { status, body } = await askPatiently(service.url, 'POST', `${path}/confirm`, { code }, member)
  assert.equal(status, 200, JSON.stringify(body))
}

async function newRecoveryCode({ service, member }: Scene): Promise<string> {
  const { body } = await askPatiently(service.url, 'POST', '/users/me/second-factor/recovery-codes', undefined, member)
  const [code] = (body as { recovery_codes: string[] }).recovery_codes
  return code ?? assert.fail('no recovery code')
}

async function cutSecondStep(scene: Scene, text: string, when: 'before' | 'after'): Promise<void> {
  const { proxy, service, sql } = scene
  const login = { email: WITH_MEMBER.ADMIN_EMAIL, password: WITH_MEMBER.ADMIN_PASSWORD }
  const state = async () => {
    const [row] = await sql<{ sessions: string; codes: string }[]>`
      select (select count(*) from sessions join users on users.id = user_id where email = ${login.email}) as sessions,
        (select count(*) from recovery_codes) as codes`
    return { sessions: Number(row?.sessions), codes: Number(row?.codes) }
  }
  // A transaction of the background work may be cut in place of the second step.
  const { before, challenge, code } = await eventually('a second step is cut', async () => {
    const given = await newRecoveryCode(scene)
    const { challenge: begun } = (await askPatiently(service.url, 'POST', '/login/', login)).body as { challenge: string }
    const found = await state()
    // The text of a prepared statement is sent only once per connection, so the test needs new connections.
    proxy.cutAll()
    const cutsBefore = proxy.cuts()
    proxy.cutAt(text, when)
    const { status, body } = await ask(service.url, 'POST', '/login/second-factor', { challenge: begun, code: given })
    assert.ok([200, 503].includes(status), `${status} ${JSON.stringify(body)}`)
    return proxy.cuts() > cutsBefore && status === 503 ? { before: found, challenge: begun, code: given } : undefined
  })
  await untilServing(service.url, performance.now())
  const after = await state()
  const opened = after.sessions - before.sessions
  assert.equal(before.codes - after.codes, opened, 'one code for the session, or neither')
  // A commit whose response was lost may have happened or not; both are correct.
  if (text !== 'commit' || when !== 'after') assert.equal(opened, 0)
  const again = await askPatiently(service.url, 'POST', '/login/second-factor', { challenge, code })
  assert.equal(again.status, opened === 0 ? 200 : 401, 'what was not used still works')
}
