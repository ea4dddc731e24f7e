import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import postgres from 'postgres'
import { eventually, until } from '../support/app/eventually.ts'
import { type PostgresServer, startPostgres } from '../support/databases/postgres-server.ts'
import { newEmail } from '../support/http/requests.ts'
import { signIn, WITH_MEMBER } from '../support/load/outage.ts'
import { ask, registration } from '../support/load/traffic.ts'
import { startProcess } from '../support/processes/service-process.ts'

const DEADLINE_MS = 60_000
const ROUNDS = 10

type Headers = Readonly<Record<string, string>>

type Scene = {
  readonly standby: PostgresServer
  readonly onPrimary: postgres.Sql
  readonly admin: Headers
  /** Sends a request until it is not refused because the machine is busy. */
  request(method: string, path: string, headers: Headers, body?: unknown): Promise<{ status: number; body: unknown }>
  /** Runs a statement on the standby, as its operator. */
  onStandby(sql: string): Promise<readonly unknown[]>
  output(): string
}

/** The service with a primary and a streaming replica. */
async function setScene(t: TestContext): Promise<Scene> {
  const primary = await startPostgres()
  t.after(() => primary.stop())
  const standby = await primary.startStandby()
  t.after(() => standby.stop())
  const onStandby = async (text: string) => {
    const sql = postgres(standby.url, { max: 1, fetch_types: false, onnotice: () => undefined })
    try {
      return [...(await sql.unsafe(text))]
    } finally {
      await sql.end({ timeout: 0 })
    }
  }
  const service = await startProcess(t, { DATABASE_URL: primary.url, DATABASE_READ_URL: standby.url, ...WITH_MEMBER })
  const onPrimary = postgres(primary.url, { max: 1, onnotice: () => undefined })
  t.after(() => onPrimary.end({ timeout: 0 }))
  const request: Scene['request'] = (method, path, headers, body) =>
    eventually(
      `${method} ${path} is answered`,
      async () => {
        const answer = await ask(service.url, method, path, body, headers)
        return answer.status === 503 ? undefined : answer
      },
      DEADLINE_MS,
    )
  return { standby, onPrimary, admin: await signIn(service.url), request, onStandby, output: service.output }
}

async function setDelay({ onStandby }: Scene, delay: string): Promise<void> {
  await onStandby(`alter system set recovery_min_apply_delay = '${delay}'`)
  await onStandby('select pg_reload_conf()')
}

/** Creates a verified user with an API key. */
async function createUser({ request, onPrimary }: Scene) {
  const email = newEmail()
  const { body } = await request('POST', '/register/', {}, registration(email))
  const { token } = body as { token: string }
  const [user] = await onPrimary<{ id: number }[]>`update users set verified = true where email = ${email} returning id::int`
  const session = { authorization: `Bearer ${token}` }
  const key = (await request('POST', '/users/keys', session, { name: 'ci' })).body as { id: string; key: string }
  return { id: user?.id ?? 0, email, session: session as Headers, key: { 'x-api-key': key.key }, keyId: key.id }
}

/** A ban, a disabled key and a logout apply to the very next request, whatever the replica has. */
async function assertRevocations(scene: Scene): Promise<void> {
  const { request, admin } = scene
  const user = await createUser(scene)
  const statuses = async () => [
    (await request('GET', '/users/me', user.session)).status,
    (await request('GET', '/users/me', user.key)).status,
  ]
  for (let round = 0; round < ROUNDS; round++) {
    assert.deepEqual(await statuses(), [200, 200])
    assert.equal((await request('POST', `/users/${user.id}/ban`, admin)).status, 204)
    assert.deepEqual(await statuses(), [401, 401])
    assert.equal((await request('POST', `/users/${user.id}/unban`, admin)).status, 204)
    // A ban has ended the session.
    user.session = { authorization: `Bearer ${(await loggedIn(scene, user.email)).token}` }
  }
  assert.equal((await request('PATCH', `/users/keys/${user.keyId}`, user.session, { is_active: false })).status, 200)
  assert.deepEqual(await statuses(), [200, 401])
  assert.equal((await request('POST', '/logout/', user.session)).status, 204)
  assert.deepEqual(await statuses(), [401, 401])
}

async function loggedIn({ request }: Scene, email: string): Promise<{ token: string }> {
  const { status, body } = await request('POST', '/login/', {}, { ...registration(email), email })
  assert.equal(status, 200)
  return body as { token: string }
}

async function listed({ request, admin }: Scene): Promise<string[]> {
  const { status, body } = await request('GET', '/users/', admin)
  assert.equal(status, 200)
  for (const path of ['/users/search?search_term=mia', '/audit/']) assert.equal((await request('GET', path, admin)).status, 200)
  return (body as { email: string; first_name: string }[]).map(({ email, first_name }) => `${first_name} ${email}`)
}

/** Why the service has left the replica, unless it uses it again. */
function reasonForLeaving(output: string): string | undefined {
  const changes = output.matchAll(/"reason":"([^"]+)","msg":"the replica cannot be used|"msg":"the replica is used again/g)
  return [...changes].at(-1)?.[1]
}

/** A new user appears in the list, sooner or later. */
async function assertListed(scene: Scene): Promise<void> {
  const { email } = await createUser(scene)
  await until('the list has the new user', async () => (await listed(scene)).includes(`Mia ${email}`), DEADLINE_MS)
}

test('a replica that is late, too late, gone or promoted: callers are identified by the primary, and no request fails', async (t) => {
  const scene = await setScene(t)
  const { standby, onStandby, output } = scene
  const isUsed = async () => {
    await listed(scene)
    const reads = await onStandby("select from pg_stat_activity where application_name = 'latchkey' and query not like '%isReplica%'")
    return reads.length > 0
  }

  await t.test('two seconds late', async () => {
    await setDelay(scene, '2s')
    await until('lists are read from the replica', isUsed, DEADLINE_MS)
    await assertRevocations(scene)
    await assertListed(scene)
  })

  await t.test('an hour late', async () => {
    await setDelay(scene, '1h')
    await assertRevocations(scene)
    await assertListed(scene)
    const isReported = async () => (await listed(scene)).length > 0 && output().includes('the replica cannot be used')
    await until('the delay is reported', isReported, DEADLINE_MS)
  })

  await t.test('gone', async () => {
    await standby.end('SIGKILL')
    await assertRevocations(scene)
    await assertListed(scene)
  })

  await t.test('promoted, with a history of its own', async () => {
    await standby.start()
    await setDelay(scene, '0')
    await until('lists are read from the replica again', isUsed, DEADLINE_MS)
    const banned = await createUser(scene)
    assert.equal((await scene.request('POST', `/users/${banned.id}/ban`, scene.admin)).status, 204)
    await until('the replica has the ban', async () => (await onStandby('select from users where banned')).length > 0, DEADLINE_MS)
    await onStandby('select pg_promote()')
    await onStandby("update users set banned = false, first_name = 'Mallory'")
    const lookForReason = async () => {
      await listed(scene)
      return reasonForLeaving(output())
    }
    const reason = await eventually('the replica is left', lookForReason, DEADLINE_MS)
    // On a busy machine, the replica may be left because it answers late. The promotion, which is found afterwards, is then not logged.
    if (!reason.startsWith('PostgreSQL did not respond within')) assert.match(reason, /is not a replica, or was promoted/)
    assert.deepEqual(
      (await listed(scene)).filter((user) => user.startsWith('Mallory')),
      [],
    )
    assert.equal((await scene.request('GET', '/users/me', banned.key)).status, 401)
    await assertRevocations(scene)
  })
})
