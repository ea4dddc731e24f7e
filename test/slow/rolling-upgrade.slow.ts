import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test as plainTest, type TestContext } from 'node:test'
import { eventually, until } from '../support/app/eventually.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { type ContractContext, temporaryFolder, test } from '../support/databases/databases.ts'
import { emptyDatabase, migrateAsLater, newestNumber } from '../support/databases/later-schema.ts'
import { ROOT, read } from '../support/documents.ts'
import { newEmail, PASSWORD } from '../support/http/requests.ts'
import { ask, registration, type TimedResponse } from '../support/load/traffic.ts'
import { startMain } from '../support/processes/main-process.ts'
import { LATCHKEY, MAIN, runNode } from '../support/processes/processes.ts'
import { freePort } from '../support/servers/free-port.ts'
import { codeFor, type SmtpPeer, startSmtpPeer } from '../support/servers/smtp-peer.ts'

type PreviousRelease = {
  readonly version: string
  /** Its script that starts the service. */
  readonly main: string
  readonly latchkey: string
}

type Manifest = { readonly version: string; readonly dependencies: Readonly<Record<string, string>> }

/**
 * The sources of the previous release, in a temporary folder. Node.js runs them as they are. Returns undefined, and skips the test, in a
 * folder without the history of the project whose origin cannot be reached.
 */
function previousRelease(t: TestContext): PreviousRelease | undefined {
  const { version, commit } = JSON.parse(read('test/fixtures/previous-release.json')) as { version: string; commit: string }
  const found = findCommit(version, commit)
  if (found === undefined) {
    assert.ok(!hasHistory(), `this clone has neither the tag v${version} nor the commit ${commit}`)
    t.skip(`the commit of ${version} is neither in this clone nor at its origin: run \`git fetch --unshallow --tags\``)
    return undefined
  }
  const folder = temporaryFolder(t)
  const archive = join(folder, 'release.tar')
  const packed = git('archive', `--output=${archive}`, found, 'src', 'migrations', 'package.json', 'package-lock.json')
  assert.equal(packed.status, 0, packed.stderr)
  execFileSync('tar', ['-x', '-f', archive, '-C', folder])
  const manifest = readManifest(folder)
  assert.equal(manifest.version, version, `${found} is not ${version}`)
  installDependencies(folder, manifest)
  return { version, main: join(folder, 'src', 'main.ts'), latchkey: join(folder, 'src', 'cli', 'latchkey.ts') }
}

/** A clone may lack tags, or the history; then the tag and the commit are fetched. */
function findCommit(version: string, commit: string): string | undefined {
  const tag = `v${version}`
  const inClone = () => resolveCommit(`refs/tags/${tag}`) ?? resolveCommit(commit)
  const fetched = () => {
    for (const what of [['tag', tag], [commit]]) git('fetch', '--quiet', '--no-tags', '--depth=1', 'origin', ...what)
    return inClone()
  }
  const found = inClone() ?? fetched()
  if (found !== undefined) assert.equal(found, commit, `the tag ${tag} and test/fixtures/previous-release.json name different commits`)
  return found
}

/** False in a shallow clone, and in a folder that is no clone. */
function hasHistory(): boolean {
  return git('rev-parse', '--is-shallow-repository').stdout.trim() === 'false'
}

function resolveCommit(name: string): string | undefined {
  const { status, stdout } = git('rev-parse', '--verify', '--quiet', `${name}^{commit}`)
  return status === 0 ? stdout.trim() : undefined
}

function git(...args: string[]) {
  // The clone may belong to another user than the one who runs the tests.
  return spawnSync('git', ['-c', 'safe.directory=*', ...args], { cwd: ROOT, encoding: 'utf8' })
}

/** Links the packages of this version if they satisfy the previous one, and installs its own otherwise. */
function installDependencies(folder: string, { dependencies }: Manifest): void {
  const own = join(ROOT, 'node_modules')
  const isSatisfied = Object.entries(dependencies).every(([name, range]) => satisfies(join(own, name), range))
  if (isSatisfied) symlinkSync(own, join(folder, 'node_modules'))
  else execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' })
}

function satisfies(packageFolder: string, range: string): boolean {
  if (!existsSync(packageFolder)) return false
  const [found, wanted] = [readManifest(packageFolder).version, range.replace(/^[\^~]/, '')].map((version) =>
    version.split('.').map(Number),
  )
  const [major, minor = 0, patch = 0] = found ?? []
  const [wantedMajor, wantedMinor = 0, wantedPatch = 0] = wanted ?? []
  return major === wantedMajor && (minor > wantedMinor || (minor === wantedMinor && patch >= wantedPatch))
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

const NEW_PASSWORD = 'a brand new password'
const ANSWER_DEADLINE_MS = 120_000

type Fields = Record<string, string>
type Request = readonly [method: string, path: string, body?: unknown, headers?: Fields]

const bearer = (token: string | undefined): Fields => ({ authorization: `Bearer ${token}` })

/**
 * Sends a request until it is answered by something other than 503, which a busy machine may cause, and asserts the status. A request
 * that was sent again may find that the first one had been carried out: then `again` is right too.
 */
async function expectStatus(url: string, status: number, [method, path, body, headers]: Request, again = status): Promise<Fields> {
  const deadline = performance.now() + ANSWER_DEADLINE_MS
  for (let attempt = 1; ; attempt++) {
    const answer = await ask(url, method, path, body, headers)
    if (isUnavailable(answer) && performance.now() < deadline) continue
    const isExpected = answer.status === status || (attempt > 1 && answer.status === again)
    assert.ok(isExpected, `${url} ${answer.what}: ${answer.status}, expected ${status}: ${JSON.stringify(answer.body)}`)
    return answer.body as Fields
  }
}

async function registered(url: string): Promise<{ email: string; token: string; refresh: string }> {
  return eventually(
    `a registration at ${url} is answered`,
    async () => {
      const email = newEmail()
      const answer = await ask(url, 'POST', '/register/', registration(email))
      if (isUnavailable(answer)) return undefined
      assert.equal(answer.status, 201, JSON.stringify(answer.body))
      return { email, ...(answer.body as { token: string; refresh: string }) }
    },
    ANSWER_DEADLINE_MS,
  )
}

function isUnavailable({ status }: TimedResponse): boolean {
  return status === 503 || status === 0
}

async function userId(url: string, email: string, admin: Fields): Promise<string> {
  const found = await expectStatus(url, 200, ['GET', `/users/search?search_term=${email}&field=email`, undefined, admin])
  const [user] = (found as unknown as { items: { id: number }[] }).items
  return String(user?.id ?? assert.fail(`no user has the address ${email}`))
}

/** Everything that an account does, each step at one service and its effect at the other. Ends with the deletion of the account. */
async function liveBetween(one: string, other: string, peer: SmtpPeer, admin: { email: string; password: string }): Promise<void> {
  const { email, token, refresh } = await registered(one)
  await expectStatus(other, 401, ['POST', '/login/', { email, password: PASSWORD }])
  await expectStatus(other, 200, ['GET', `/verify/?code=${await codeFor(peer, email, '/verify')}`])
  await expectStatus(other, 200, ['GET', '/users/me', undefined, bearer(token)])
  const again = await expectStatus(other, 200, ['POST', '/login/', { email, password: PASSWORD }])
  await expectStatus(one, 200, ['GET', '/users/me', undefined, bearer(again['token'])])
  const refreshed = await expectStatus(other, 200, ['POST', '/refresh/', { refresh }])
  await expectStatus(one, 200, ['GET', '/users/me', undefined, bearer(refreshed['token'])])

  const key = await expectStatus(one, 200, ['POST', '/users/keys', { name: 'robot', scopes: ['read'] }, bearer(token)])
  const withKey = { 'x-api-key': key['key'] ?? '' }
  await expectStatus(other, 200, ['GET', '/users/me', undefined, withKey])
  const listed = await expectStatus(other, 200, ['GET', '/users/keys', undefined, bearer(token)])
  assert.ok(JSON.stringify(listed).includes(`"${key['id']}"`), 'the key is listed')
  await expectStatus(other, 200, ['PATCH', `/users/keys/${key['id']}`, { is_active: false }, bearer(token)])
  await expectStatus(one, 401, ['GET', '/users/me', undefined, withKey])
  await expectStatus(other, 204, ['DELETE', `/users/keys/${key['id']}`, undefined, bearer(token)], 404)

  const boss = await expectStatus(one, 200, ['POST', '/login/', admin])
  const asBoss = bearer(boss['token'])
  const id = await userId(other, email, asBoss)
  const name = `Äda${id}`
  await expectStatus(one, 200, ['PUT', `/users/${id}`, { email, first_name: name, last_name: 'Muster' }, bearer(token)])
  const found = await expectStatus(other, 200, [
    'GET',
    `/users/search?search_term=${encodeURIComponent(name.slice(1))}&field=first_name`,
    undefined,
    asBoss,
  ])
  assert.ok(
    JSON.stringify(found).includes(email),
    `the search finds a name that was changed by the other service: ${JSON.stringify(found)}`,
  )
  assert.ok(JSON.stringify(await expectStatus(other, 200, ['GET', '/users/', undefined, asBoss])).includes(email), 'the user is listed')
  await expectStatus(one, 204, ['POST', `/users/${id}/ban`, undefined, asBoss])
  await expectStatus(other, 401, ['GET', '/users/me', undefined, bearer(token)])
  await expectStatus(one, 204, ['POST', `/users/${id}/unban`, undefined, asBoss])

  await expectStatus(other, 200, ['POST', '/forgot-password/', { email }])
  const code = await codeFor(peer, email, '/reset-password')
  await expectStatus(one, 200, ['POST', '/reset-password/', { code, new_password: NEW_PASSWORD }], 401)
  await expectStatus(other, 401, ['GET', '/users/me', undefined, bearer(token)])
  await expectStatus(other, 400, ['POST', '/login/', { email, password: PASSWORD }])
  const last = await expectStatus(other, 200, ['POST', '/login/', { email, password: NEW_PASSWORD }])
  await expectStatus(one, 204, ['POST', '/logout/', undefined, bearer(last['token'])], 401)
  await expectStatus(other, 401, ['GET', '/users/me', undefined, bearer(last['token'])])
  await expectStatus(other, 204, ['DELETE', `/users/${id}`, undefined, asBoss], 404)
  await expectStatus(one, 400, ['POST', '/login/', { email, password: NEW_PASSWORD }])
}

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
