import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test as plainTest } from 'node:test'
import { until } from '../support/app/eventually.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { type ContractContext, temporaryFolder, test } from '../support/databases/databases.ts'
import { emptyDatabase, migrateAsLater, newestNumber } from '../support/databases/later-schema.ts'
import { PASSWORD } from '../support/http/requests.ts'
import { bearer, codeFor, expectStatus, liveBetween, NEW_PASSWORD, registered, userId } from '../support/load/account-life.ts'
import { startMain } from '../support/processes/main-process.ts'
import { previousRelease } from '../support/processes/previous-release.ts'
import { LATCHKEY, MAIN, runNode } from '../support/processes/processes.ts'
import { freePort } from '../support/servers/free-port.ts'
import { startSmtpPeer } from '../support/servers/smtp-peer.ts'

const ADMIN = { email: 'boss@example.com', password: 'the password of the boss' }

/** A database without tables, and services on it: of this version and of the previous release. */
async function place(t: ContractContext) {
  const database = await emptyDatabase(t, t.database)
  const peer = await startSmtpPeer(t)
  const cwd = temporaryFolder(t)
  const env = {
    DATABASE_URL: database.setting,
    SECRET_KEY: TEST_SECRET,
    SMTP_URL: peer.url,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    LOG_LEVEL: 'warn',
  }
  const start = (script: string, further: Readonly<Record<string, string>> = {}) =>
    startMain(t, { cwd, script, env: { ...env, ...further } })
  const run = (...args: string[]) => runNode(t, LATCHKEY, args, { cwd, env: { ...env, PORT: '0' } })
  const tryStart = (script: string) => runNode(t, script, [], { cwd, env: { ...env, PORT: '0' } })
  return { database, peer, start, run, tryStart }
}

type Service = Awaited<ReturnType<Awaited<ReturnType<typeof place>>['start']>>

async function stop({ child, ended }: Service): Promise<void> {
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)
}

// Both releases log a request that they answer with 503 as an error. It is sent again; one that never succeeds fails the test.
const UNAVAILABLE = /"(?:msg|code)":"unavailable"|"msg":"database outage"/

/** Lines about errors. A busy machine may cause others: of an overload, or of a client that gave up. */
function errorsIn({ stdout, stderr }: Service): string[] {
  const lines = `${stdout()}\n${stderr()}`.split('\n').filter((line) => /unhandled/.test(line) || !UNAVAILABLE.test(line))
  return lines.filter((line) => /"level":(50|60)|"status":500|relation|column|violates/.test(line))
}

plainTest('PostgreSQL: the previous release keeps serving while this version migrates, and both serve side by side', async (t) => {
  const { peer, start, run } = await place(Object.assign(t, { database: 'postgres' as const }))
  const release = previousRelease(t)
  if (release === undefined) return
  const old = await start(release.main)
  const steady = await registered(old.url)
  await expectStatus(old.url, 200, ['GET', `/verify/?code=${await codeFor(peer, steady.email, '/verify')}`])

  let isMigrated = false
  let served = 0
  const clients = Array.from({ length: 3 }, async () => {
    for (let rounds = 0; !isMigrated || rounds < 3; rounds++) {
      await expectStatus(old.url, 200, ['GET', '/users/me', undefined, bearer(steady.token)])
      await expectStatus(old.url, 200, ['POST', '/refresh/', { refresh: steady.refresh }])
      await registered(old.url)
      served++
    }
  })
  const [current] = await Promise.all([
    start(MAIN).finally(() => {
      isMigrated = true
    }),
    ...clients,
  ])
  t.diagnostic(`${served} registrations were served by ${release.version} around the migration`)

  await liveBetween(old.url, current.url, peer, ADMIN)
  await liveBetween(current.url, old.url, peer, ADMIN)
  await liveBetween(old.url, old.url, peer, ADMIN)
  await expectStatus(current.url, 200, ['GET', '/users/me', undefined, bearer(steady.token)])
  assert.deepEqual([...errorsIn(old), ...errorsIn(current)], [])
  assert.equal((await run('audit', 'verify')).code, 0)

  await stop(old)
  const again = await start(release.main)
  await until('the warning', () => again.stdout().includes('migrated by a newer version of Latchkey'), 30_000)
  await liveBetween(current.url, again.url, peer, ADMIN)
  assert.deepEqual([...errorsIn(again), ...errorsIn(current)], [])
})

test('data of the previous release: logins, sessions, keys, mailed links and waiting mails work after the upgrade, and after going back', async (t) => {
  const { peer, start, run, database } = await place(t)
  const release = previousRelease(t)
  if (release === undefined) return
  const old = await start(release.main)
  const [verified, unverified, forgetful, banned] = await Promise.all([1, 2, 3, 4].map(() => registered(old.url)))
  assert.ok(verified && unverified && forgetful && banned)
  const verify = async ({ email }: typeof verified) =>
    expectStatus(old.url, 200, ['GET', `/verify/?code=${await codeFor(peer, email, '/verify')}`])
  await Promise.all([verified, forgetful, banned].map(verify))
  const key = await expectStatus(old.url, 200, ['POST', '/users/keys', { name: 'robot' }, bearer(verified.token)])
  await expectStatus(old.url, 200, ['POST', '/forgot-password/', { email: forgetful.email }])
  const [verifyCode, resetCode] = [
    await codeFor(peer, unverified.email, '/verify'),
    await codeFor(peer, forgetful.email, '/reset-password'),
  ]
  const boss = await expectStatus(old.url, 200, ['POST', '/login/', ADMIN])
  const id = await userId(old.url, banned.email, bearer(boss['token']))
  await expectStatus(old.url, 204, ['POST', `/users/${id}/ban`, undefined, bearer(boss['token'])])
  await stop(old)
  const silent = await start(release.main, { SMTP_URL: `smtp://127.0.0.1:${await freePort()}` })
  const waiting = await registered(silent.url)
  await stop(silent)

  const { url, ...current } = await start(MAIN)
  // If the mail was tried in vain, it is due again after a while only. It may be sent before it is found here.
  const mails = JSON.parse((await run('mail', 'list', '--json')).stdout) as { id: number }[]
  if (mails.length > 0) await run('mail', 'retry', ...mails.map(({ id }) => String(id)))
  await expectStatus(url, 200, ['GET', '/users/me', undefined, bearer(verified.token)])
  await expectStatus(url, 200, ['POST', '/refresh/', { refresh: verified.refresh }])
  await expectStatus(url, 200, ['GET', '/users/me', undefined, { 'x-api-key': key['key'] ?? '' }])
  await expectStatus(url, 200, ['POST', '/login/', { email: verified.email, password: PASSWORD }])
  await expectStatus(url, 401, ['POST', '/login/', { email: banned.email, password: PASSWORD }])
  await expectStatus(url, 200, ['GET', `/verify/?code=${verifyCode}`])
  await expectStatus(url, 200, ['POST', '/login/', { email: unverified.email, password: PASSWORD }])
  await expectStatus(url, 200, ['POST', '/reset-password/', { code: resetCode, new_password: NEW_PASSWORD }], 401)
  await expectStatus(url, 200, ['POST', '/login/', { email: forgetful.email, password: NEW_PASSWORD }])
  await expectStatus(url, 200, ['GET', `/verify/?code=${await codeFor(peer, waiting.email, '/verify')}`])
  await userId(url, verified.email, bearer(boss['token']))
  await liveBetween(url, url, peer, ADMIN)
  assert.deepEqual(errorsIn({ url, ...current }), [])
  const doctor = JSON.parse((await run('doctor', '--json')).stdout) as { check: string; verdict: string; message: string }[]
  assert.deepEqual(
    doctor.filter(({ check, verdict }) => ['database', 'schema', 'admins'].includes(check) && verdict !== 'ok'),
    [],
    database.kind,
  )

  await stop({ url, ...current })
  const back = await start(release.main)
  await expectStatus(back.url, 200, ['GET', '/users/me', undefined, bearer(verified.token)])
  await liveBetween(back.url, back.url, peer, ADMIN)
  assert.deepEqual(errorsIn(back), [])
})

test('this version serves on a newer schema that declares itself usable, with a warning, and its data is kept', async (t) => {
  const { database, peer, start } = await place(t)
  const before = await start(MAIN)
  const { email, token } = await registered(before.url)
  await expectStatus(before.url, 200, ['GET', `/verify/?code=${await codeFor(peer, email, '/verify')}`])
  if (t.database === 'sqlite') await stop(before)
  await migrateAsLater(t, database, {
    '9999-later.sql': `-- usable-from: ${newestNumber(t.database)}\nalter table users add column nickname text; create table later (i bigint);`,
  })
  const after = await start(MAIN)
  await until('the warning', () => after.stdout().includes('migrated by a newer version of Latchkey'), 30_000)
  await expectStatus(after.url, 200, ['GET', '/users/me', undefined, bearer(token)])
  await liveBetween(after.url, t.database === 'sqlite' ? after.url : before.url, peer, ADMIN)
  assert.deepEqual(errorsIn(after), [])
})

test('this version refuses to start on a newer schema that needs a later one, in one line, and changes nothing', async (t) => {
  const { database, tryStart } = await place(t)
  await migrateAsLater(t, database, { '9999-later.sql': '-- usable-from: 9999\nalter table users add column nickname text;' })
  const { code, stderr } = await tryStart(MAIN)
  assert.equal(code, 1)
  assert.match(stderr, /migrated by a newer version of Latchkey \(it has 9999-later\.sql\); install that version or a later one\n$/)
  if (database.kind === 'sqlite') assert.equal(new DatabaseSync(database.file).prepare('select count(*) as n from users').get()?.['n'], 0)
})
