import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { emptyPostgres, temporaryFolder } from '../support/databases/databases.ts'
import { fetchPatiently } from '../support/http/patience.ts'
import { startMain } from '../support/processes/main-process.ts'
import { MAIN, runNode } from '../support/processes/processes.ts'
import { startProcess, untilPrinted } from '../support/processes/service-process.ts'

const ON_WINDOWS = process.platform === 'win32'
const JSON_TYPE = { 'content-type': 'application/json' }

function mode(file: string): string {
  return (statSync(file).mode & 0o777).toString(8)
}

/** Starts the service with invalid settings. */
async function failToStart(t: TestContext, env: Readonly<Record<string, string>>, cwd = temporaryFolder(t)): Promise<string> {
  const { code, stdout, stderr } = await runNode(t, MAIN, [], { cwd, env })
  assert.deepEqual([code, stdout], [1, ''])
  assert.doesNotMatch(stderr, /^\s+at /m)
  return stderr
}

test('the service starts in an empty folder without settings, and the welcome text says what to do next', async (t) => {
  const cwd = temporaryFolder(t)
  const { url, stdout, stderr } = await startMain(t, { cwd })
  assert.equal((await fetch(`${url}/heartbeat`)).status, 200)
  assert.match(stdout(), /\n {2}Latchkey listens on http:\/\/127\.0\.0\.1:\d+\n/)
  for (const words of [
    '/docs\n',
    'data/latchkey.db',
    'data/mail',
    'user create --admin',
    'BASE_URL',
    'SMTP_URL',
    'SECRET_KEY',
    'DATABASE_URL',
    'CORS_ORIGINS',
  ]) {
    assert.ok(stdout().includes(words), `${words} is missing`)
  }
  assert.equal(stderr(), '')
  if (ON_WINDOWS) return
  assert.deepEqual(
    [mode(join(cwd, 'data')), mode(join(cwd, 'data/latchkey.db')), mode(join(cwd, 'data/secret.key'))],
    ['700', '600', '600'],
  )
})

test('the welcome text of a public service names each setting that is too weak for it, and that of a strong one none', async (t) => {
  const base = { BASE_URL: 'https://accounts.example.com' }
  const weak = await startMain(t, { cwd: temporaryFolder(t), env: base })
  for (const line of [
    /^ {4}RATE_LIMITS {9}standard; it is off: /m,
    /^ {4}PASSWORD_BLOCKLIST {2}common; it is none: /m,
    /^ {4}CORS_ORIGINS {8}the origins of your web pages; it is \*: /m,
    /^ {4}SECOND_FACTOR {7}admins; it is optional: /m,
  ])
    assert.match(weak.stdout(), line)
  const strong = { RATE_LIMITS: 'standard', PASSWORD_BLOCKLIST: 'common', CORS_ORIGINS: 'https://app.example.com', SECOND_FACTOR: 'admins' }
  const { stdout } = await startMain(t, { cwd: temporaryFolder(t), env: { ...base, ...strong } })
  for (const name of Object.keys(strong)) assert.ok(!stdout().includes(name), name)
})

test('while there is no admin, the welcome text shows a command that creates one and works as typed', async (t) => {
  const cwd = temporaryFolder(t)
  const first = await startMain(t, { cwd })
  const [, line = ''] = /First admin +(.*)\n/.exec(first.stdout()) ?? []
  const [program, ...args] = line.split(' ')
  assert.equal(program, 'node')
  const { code } = await runNode(t, args[0] ?? '', args.slice(1), { cwd, input: 'correct horse\n' })
  assert.equal(code, 0)
  first.child.kill('SIGTERM')
  await first.ended
  const second = await startMain(t, { cwd })
  assert.doesNotMatch(second.stdout(), /First admin/)
})

test('the secret survives a restart, so that sessions stay valid', async (t) => {
  const cwd = temporaryFolder(t)
  const register = { email: 'mia@example.com', password: 'correct horse', first_name: 'Mia', last_name: 'Muster' }
  const first = await startMain(t, { cwd })
  const body = JSON.stringify(register)
  const registered = await fetchPatiently(`${first.url}/register/`, { method: 'POST', headers: JSON_TYPE, body })
  const { refresh } = (await registered.json()) as { refresh: string }
  const secret = readFileSync(join(cwd, 'data/secret.key'), 'utf8')
  first.child.kill('SIGTERM')
  await first.ended
  const second = await startMain(t, { cwd })
  const refreshed = await fetch(`${second.url}/refresh/`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ refresh }) })
  assert.equal(refreshed.status, 200)
  assert.equal(readFileSync(join(cwd, 'data/secret.key'), 'utf8'), secret)
})

test('a port that is in use is reported in one line, with PostgreSQL too', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const words = `latchkey: PORT: ${port} on 127.0.0.1 is in use by another program; stop it, or set PORT to another number\n`
  assert.equal(await failToStart(t, { PORT: String(port) }), words)
  assert.equal(await failToStart(t, { PORT: String(port), SECRET_KEY: TEST_SECRET, DATABASE_URL: await emptyPostgres(t) }), words)
})

test('a HOST that is not an address of this machine is reported in one line', async (t) => {
  assert.equal(await failToStart(t, { HOST: '192.0.2.1', PORT: '0' }), 'latchkey: HOST: 192.0.2.1 is not an address of this machine\n')
})

test('a folder that cannot be created or written is reported in one line', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'data'), 'a file')
  assert.match(
    await failToStart(t, { PORT: '0' }, cwd),
    /^latchkey: DATABASE_URL: the SQLite file data\/latchkey\.db cannot be used: a part of its path is a file, not a folder \(.*\)\n$/,
  )
  mkdirSync(join(cwd, 'folder.db'))
  assert.match(await failToStart(t, { PORT: '0', DATABASE_URL: 'sqlite:folder.db' }, cwd), /cannot be used: it is a folder \(.*\)\n$/)
  symlinkSync(join(cwd, 'elsewhere.db'), join(cwd, 'link.db'))
  assert.match(
    await failToStart(t, { PORT: '0', DATABASE_URL: 'sqlite:link.db' }, cwd),
    /cannot be used: it is a symbolic link that leads nowhere \(.*\)\n$/,
  )
  assert.equal(existsSync(join(cwd, 'elsewhere.db')), false)
  assert.match(
    await failToStart(t, { DATABASE_URL: 'sqlite:/proc/latchkey/latchkey.db' }),
    /^latchkey: DATABASE_URL: the SQLite file \/proc\/latchkey\/latchkey\.db cannot be used: a folder in its path cannot be created \(.*\)\n$/,
  )
})

// Permissions do not restrict root.
if (process.getuid?.() !== 0) {
  test('a folder without write permission is reported in one line', async (t) => {
    const cwd = temporaryFolder(t)
    mkdirSync(join(cwd, 'data'), { mode: 0o500 })
    assert.match(await failToStart(t, { PORT: '0' }, cwd), /cannot be used: this user may not write there \(.*\)\n$/)
  })
}

test('a file that is not a database and an invalid stored secret are reported in one line', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'text.db'), 'not a database, but long enough to look like a file of some kind'.repeat(10))
  assert.match(await failToStart(t, { PORT: '0', DATABASE_URL: 'sqlite:text.db' }, cwd), /cannot be used: file is not a database\n$/)
  mkdirSync(join(cwd, 'data'))
  writeFileSync(join(cwd, 'data/secret.key'), 'short')
  assert.match(await failToStart(t, { PORT: '0' }, cwd), /^latchkey: SECRET_KEY: data\/secret\.key does not contain a secret key; .*\n$/)
})

test('an unreachable database is reported in one line, without its password', async (t) => {
  const env = { PORT: '0', SECRET_KEY: TEST_SECRET, DATABASE_URL: 'postgres://user:hunter22@localhost:1/accounts' }
  const stderr = await failToStart(t, env)
  assert.match(stderr, /^latchkey: DATABASE_URL: the PostgreSQL database cannot be used: nothing is listening at its address \(.+\)\n$/)
  assert.doesNotMatch(stderr, /hunter22/)
})

test('all invalid settings are reported together, one line each', async (t) => {
  const env = { PORT: 'x', SECRET_KEY: 'short', BASE_URL: 'nowhere', LOG_LEVEL: 'loud', ADMIN_EMAIL: 'root@example.com' }
  const lines = (await failToStart(t, env)).trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => line.split(':').slice(0, 2).join(':')),
    ['latchkey: PORT', 'latchkey: SECRET_KEY', 'latchkey: BASE_URL', 'latchkey: ADMIN_PASSWORD', 'latchkey: LOG_LEVEL'],
  )
})

test('a list of breached passwords that cannot be used is reported in one line, also with several workers', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'unordered.txt'), `${'F'.repeat(40)}:1\n${Array.from({ length: 2000 }, () => `${'0'.repeat(40)}:1\n`).join('')}`)
  const files = { 'missing.txt': 'does not exist', '.': 'is a folder', 'unordered.txt': 'is not ordered by hash, at byte \\d+' }
  for (const [file, reason] of Object.entries(files))
    for (const WORKERS of ['1', '2'])
      assert.match(
        await failToStart(t, { PORT: '0', WORKERS, PASSWORD_BLOCKLIST: file }, cwd),
        new RegExp(`^latchkey: PASSWORD_BLOCKLIST: ${file.replaceAll('.', '\\.')} ${reason}\n$`),
      )
})

test('ADMIN_PASSWORD on a list of breached passwords stops the start if it would be set, and is logged if the account exists', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'list.txt'), 'correct horse\n')
  const env = { PORT: '0', ADMIN_EMAIL: 'ada@example.com', ADMIN_PASSWORD: 'correct horse' }
  const listed = { ...env, PASSWORD_BLOCKLIST: 'list.txt' }
  const line = 'ADMIN_PASSWORD: is on a list of breached passwords (PASSWORD_BLOCKLIST); choose another one'
  assert.equal(await failToStart(t, listed, cwd), `latchkey: ${line}\n`)
  const first = await startMain(t, { cwd, env })
  first.child.kill('SIGTERM')
  await first.ended
  const second = await startMain(t, { cwd, env: listed })
  // The log is written in the background.
  await second.untilSaid(new RegExp(RegExp.escape(`"msg":"${line}"`)))
  const body = JSON.stringify({ email: 'ada@example.com', password: 'correct horse' })
  assert.equal((await fetchPatiently(`${second.url}/login/`, { method: 'POST', headers: JSON_TYPE, body })).status, 200)
})

test('a .env file is read, and the environment takes precedence', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, '.env'), 'PORT=not-a-port\nAPI_TITLE=From a file\nDATABASE_URL=sqlite:elsewhere/accounts.db\n')
  const { stdout } = await startMain(t, { cwd })
  assert.match(stdout(), /From a file listens on/)
  assert.ok(statSync(join(cwd, 'elsewhere/secret.key')).isFile())
})

test('ADMIN_EMAIL and ADMIN_PASSWORD create an admin who can log in at once', async (t) => {
  const admin = { email: 'root@example.com', password: 'correct horse' }
  const env = { ADMIN_EMAIL: admin.email, ADMIN_PASSWORD: admin.password }
  const { url, stdout } = await startMain(t, { cwd: temporaryFolder(t), env })
  const response = await fetchPatiently(`${url}/login/`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(admin) })
  assert.equal(response.status, 200)
  assert.doesNotMatch(stdout(), /correct horse/)
})

test('with PORT=0, mails, the landing page and the OpenAPI document contain the actual port', async (t) => {
  for (const workers of ['1', '2']) {
    const service = await startProcess(t, { WORKERS: workers })
    const { port } = new URL(service.url)
    const body = JSON.stringify({ email: 'mia@example.com', password: 'correct horse', first_name: 'Mia', last_name: 'Muster' })
    await fetchPatiently(`${service.url}/register/`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const link = (await untilPrinted(service, /Mail to mia@example\.com: .*/)).split(': ').at(-1) ?? ''
    assert.match(link, new RegExp(`^http://localhost:${port}/verify/\\?code=`))
    assert.equal((await fetch(link.replace('localhost', '127.0.0.1'))).status, 200)
    const landing = (await (await fetch(service.url)).json()) as { docs: string }
    const description = (await (await fetch(`${service.url}/openapi.json`)).json()) as { servers: unknown }
    assert.deepEqual([landing.docs, description.servers], [`http://localhost:${port}/docs`, [{ url: `http://localhost:${port}` }]])
    assert.ok(service.output().includes(`API explorer   http://localhost:${port}/docs\n`))
  }
})
