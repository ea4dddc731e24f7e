import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { until } from '../support/app/eventually.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { emptyPostgres, temporaryFolder } from '../support/databases/databases.ts'
import { startMain } from '../support/processes/main-process.ts'
import { MAIN, runNode } from '../support/processes/processes.ts'
import { startProcess, untilPrinted } from '../support/processes/service-process.ts'

const ON_WINDOWS = process.platform === 'win32'
const JSON_TYPE = { 'content-type': 'application/json' }

function mode(file: string): string {
  return (statSync(file).mode & 0o777).toString(8)
}

/** Starts the service with settings that it cannot start with. */
async function failToStart(t: TestContext, env: Readonly<Record<string, string>>, cwd = temporaryFolder(t)): Promise<string> {
  const { code, stdout, stderr } = await runNode(t, MAIN, [], { cwd, env })
  assert.deepEqual([code, stdout], [1, ''])
  assert.doesNotMatch(stderr, /^\s+at /m)
  return stderr
}

/** A request whose second half is sent when the test wants it. */
async function startRequest(port: number): Promise<{ finish(): Promise<string> }> {
  const body = '{"email":"mia@example.com","password":"wrong horse"}'
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const received = readAll(socket)
  const head = `POST /login/ HTTP/1.1\r\nHost: a.io\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  socket.write(head + body.slice(0, 10))
  // The service has read the head when it answers a request that came later.
  await fetch(`http://127.0.0.1:${port}/heartbeat`)
  return {
    finish() {
      socket.write(body.slice(10))
      return received
    },
  }
}

test('an empty folder and no settings are enough: it says what a person needs next', async (t) => {
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

test('the secret is kept over a restart, so that nobody is logged out', async (t) => {
  const cwd = temporaryFolder(t)
  const register = { email: 'mia@example.com', password: 'correct horse', first_name: 'Mia', last_name: 'Muster' }
  const first = await startMain(t, { cwd })
  const registered = await fetch(`${first.url}/register/`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(register) })
  const { refresh } = (await registered.json()) as { refresh: string }
  const secret = readFileSync(join(cwd, 'data/secret.key'), 'utf8')
  first.child.kill('SIGTERM')
  await first.ended
  const second = await startMain(t, { cwd })
  const refreshed = await fetch(`${second.url}/refresh/`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ refresh }) })
  assert.equal(refreshed.status, 200)
  assert.equal(readFileSync(join(cwd, 'data/secret.key'), 'utf8'), secret)
})

// The second is what a terminal sends that is closed.
for (const name of ['SIGTERM', 'SIGHUP'] as const) {
  test(`${name}: it stops accepting, finishes the request in flight, and ends with 0`, async (t) => {
    const service = await startMain(t, { cwd: temporaryFolder(t) })
    const request = await startRequest(service.port)
    service.child.kill(name)
    await service.untilSaid(/"msg":"stopping"/)
    // On a connection of its own: those that stand are still served.
    await until('new connections are turned away', () => isTurnedAway(service.port))
    const answeredAt = performance.now()
    const answer = await request.finish()
    assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*\{"detail":"Wrong email or password"\}$/)
    const { code, signal, stdout, stderr } = await service.ended
    assert.deepEqual([code, signal, stderr], [0, null, ''])
    // Well before the deadline for what does not finish.
    assert.ok(performance.now() - answeredAt < 5000)
    assert.match(stdout, /"msg":"stopping"[\s\S]*"msg":"stopped"/)
  })
}

async function isTurnedAway(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isRefused = await once(socket, 'connect').then(
    () => false,
    () => true,
  )
  socket.destroy()
  return isRefused
}

test('a second signal ends it at once', async (t) => {
  const service = await startMain(t, { cwd: temporaryFolder(t) })
  await startRequest(service.port)
  service.child.kill('SIGINT')
  await service.untilSaid(/"msg":"stopping"/)
  const startedAt = performance.now()
  service.child.kill('SIGINT')
  const { code } = await service.ended
  assert.equal(code, 1)
  assert.ok(performance.now() - startedAt < 3000)
})

test('a busy port is told in one line, with PostgreSQL too', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const words = `latchkey: PORT: ${port} on 127.0.0.1 is in use by another program; stop it, or set PORT to another number\n`
  assert.equal(await failToStart(t, { PORT: String(port) }), words)
  assert.equal(await failToStart(t, { PORT: String(port), SECRET_KEY: TEST_SECRET, DATABASE_URL: await emptyPostgres(t) }), words)
})

test('a host that is not of this machine is told in one line', async (t) => {
  assert.equal(await failToStart(t, { HOST: '192.0.2.1', PORT: '0' }), 'latchkey: HOST: 192.0.2.1 is not an address of this machine\n')
})

test('a folder that cannot be made or written is told in one line', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'data'), 'a file')
  assert.match(
    await failToStart(t, { PORT: '0' }, cwd),
    /^latchkey: DATABASE_URL: the SQLite file data\/latchkey\.db cannot be used: a part of its path is a file, where a folder is needed \(.*\)\n$/,
  )
  mkdirSync(join(cwd, 'folder.db'))
  assert.match(await failToStart(t, { PORT: '0', DATABASE_URL: 'sqlite:folder.db' }, cwd), /cannot be used: it is a folder \(.*\)\n$/)
  assert.match(
    await failToStart(t, { DATABASE_URL: 'sqlite:/proc/latchkey/latchkey.db' }),
    /^latchkey: DATABASE_URL: the SQLite file \/proc\/latchkey\/latchkey\.db cannot be used: a folder of its path cannot be made \(.*\)\n$/,
  )
})

// Permissions do not hold for root, who may write everywhere.
if (process.getuid?.() !== 0) {
  test('a folder without permission to write is told in one line', async (t) => {
    const cwd = temporaryFolder(t)
    mkdirSync(join(cwd, 'data'), { mode: 0o500 })
    assert.match(await failToStart(t, { PORT: '0' }, cwd), /cannot be used: this user may not write there \(.*\)\n$/)
  })
}

test('a file that is no database, and a kept secret that is none, are told in one line', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'text.db'), 'not a database, but long enough to look like a file of some kind'.repeat(10))
  assert.match(await failToStart(t, { PORT: '0', DATABASE_URL: 'sqlite:text.db' }, cwd), /cannot be used: file is not a database\n$/)
  mkdirSync(join(cwd, 'data'))
  writeFileSync(join(cwd, 'data/secret.key'), 'short')
  assert.match(await failToStart(t, { PORT: '0' }, cwd), /^latchkey: SECRET_KEY: data\/secret\.key does not hold a secret key; .*\n$/)
})

test('a database that cannot be reached is told in one line, without its password', async (t) => {
  const env = { PORT: '0', SECRET_KEY: TEST_SECRET, DATABASE_URL: 'postgres://user:hunter22@localhost:1/accounts' }
  const stderr = await failToStart(t, env)
  assert.match(stderr, /^latchkey: DATABASE_URL: the PostgreSQL database cannot be used: nothing listens at its address \(.+\)\n$/)
  assert.doesNotMatch(stderr, /hunter22/)
})

test('bad settings are told in a line each, all at once', async (t) => {
  const env = { PORT: 'x', SECRET_KEY: 'short', BASE_URL: 'nowhere', LOG_LEVEL: 'loud', ADMIN_EMAIL: 'root@example.com' }
  const lines = (await failToStart(t, env)).trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => line.split(':').slice(0, 2).join(':')),
    ['latchkey: PORT', 'latchkey: SECRET_KEY', 'latchkey: BASE_URL', 'latchkey: ADMIN_PASSWORD', 'latchkey: LOG_LEVEL'],
  )
})

test('a .env file is read, and the environment wins over it', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, '.env'), 'PORT=not-a-port\nAPI_TITLE=From a file\nDATABASE_URL=sqlite:elsewhere/accounts.db\n')
  const { stdout } = await startMain(t, { cwd })
  assert.match(stdout(), /From a file listens on/)
  assert.ok(statSync(join(cwd, 'elsewhere/secret.key')).isFile())
})

test('ADMIN_EMAIL and ADMIN_PASSWORD make an admin who can log in at once', async (t) => {
  const admin = { email: 'root@example.com', password: 'correct horse' }
  const env = { ADMIN_EMAIL: admin.email, ADMIN_PASSWORD: admin.password }
  const { url, stdout } = await startMain(t, { cwd: temporaryFolder(t), env })
  const response = await fetch(`${url}/login/`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(admin) })
  assert.equal(response.status, 200)
  assert.doesNotMatch(stdout(), /correct horse/)
})

test('SIGTERM loses none of many who have connected and asked, and whom nobody has accepted yet', async (t) => {
  const { child, port, ended } = await startMain(t, { cwd: temporaryFolder(t) })
  child.kill('SIGSTOP')
  const sockets = Array.from({ length: 100 }, () => connect(port, '127.0.0.1'))
  await Promise.all(
    sockets.map(async (socket) => {
      await once(socket, 'connect')
      socket.write('GET /heartbeat HTTP/1.1\r\nHost: localhost\r\n\r\n')
    }),
  )
  const answers = Promise.all(sockets.map((socket) => readAll(socket)))
  child.kill('SIGTERM')
  child.kill('SIGCONT')
  const right = (await answers).filter((answer) => answer.startsWith('HTTP/1.1 200 OK\r\n') && answer.endsWith('{"status":"ok"}'))
  assert.equal(right.length, 100)
  assert.equal((await ended).code, 0)
})

test('an output that is closed does not stop the service', async (t) => {
  const service = await startMain(t, { cwd: temporaryFolder(t) })
  service.child.stdout?.destroy()
  service.child.stderr?.destroy()
  for (let count = 0; count < 50; count++) assert.equal((await fetch(`${service.url}/logout/`, { method: 'POST' })).status, 401)
  assert.equal((await fetch(`${service.url}/heartbeat`)).status, 200)
  service.child.kill('SIGTERM')
  const [code] = await once(service.child, 'exit')
  assert.equal(code, 0)
})

test('an output that nobody reads does not stop the service', async (t) => {
  const service = await startMain(t, { cwd: temporaryFolder(t) })
  service.child.stdout?.pause()
  // Far more lines than a pipe holds.
  for (let round = 0; round < 28; round++) {
    const responses = await Promise.all(Array.from({ length: 50 }, () => fetch(`${service.url}/logout/`, { method: 'POST' })))
    for (const { status } of responses) assert.equal(status, 401)
  }
  assert.equal((await fetch(`${service.url}/heartbeat`)).status, 200)
})

test('an error that nobody caught is told, and ends the service with 1 after what is in flight', async (t) => {
  const throwOnSignal = `process.on('SIGUSR2', () => { throw new Error('nobody caught this') })`
  const nodeFlags = ['--import', `data:text/javascript,${encodeURIComponent(throwOnSignal)}`]
  const service = await startMain(t, { cwd: temporaryFolder(t), nodeFlags })
  const request = await startRequest(service.port)
  service.child.kill('SIGUSR2')
  await service.untilSaid(/nobody caught this/)
  assert.match(await request.finish(), /Wrong email or password/)
  assert.equal((await service.ended).code, 1)
})

test('a promise that nobody waited for is told, and the service lives on', async (t) => {
  const rejectOnSignal = `process.on('SIGUSR2', () => { void Promise.reject(new Error('nobody waited for this')) })`
  const nodeFlags = ['--import', `data:text/javascript,${encodeURIComponent(rejectOnSignal)}`]
  const service = await startMain(t, { cwd: temporaryFolder(t), nodeFlags })
  service.child.kill('SIGUSR2')
  await service.untilSaid(/nobody waited for this/)
  assert.equal((await fetch(`${service.url}/heartbeat`)).status, 200)
})

test('a service that takes a free port names it in its mails, its landing page and its description of the API', async (t) => {
  for (const workers of ['1', '2']) {
    const service = await startProcess(t, { WORKERS: workers })
    const { port } = new URL(service.url)
    const body = JSON.stringify({ email: 'mia@example.com', password: 'correct horse', first_name: 'Mia', last_name: 'Muster' })
    await fetch(`${service.url}/register/`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const link = (await untilPrinted(service, /Mail to mia@example\.com: .*/)).split(': ').at(-1) ?? ''
    assert.match(link, new RegExp(`^http://localhost:${port}/verify/\\?code=`))
    assert.equal((await fetch(link.replace('localhost', '127.0.0.1'))).status, 200)
    const landing = (await (await fetch(service.url)).json()) as { docs: string }
    const description = (await (await fetch(`${service.url}/openapi.json`)).json()) as { servers: unknown }
    assert.deepEqual([landing.docs, description.servers], [`http://localhost:${port}/docs`, [{ url: `http://localhost:${port}` }]])
    assert.ok(service.output().includes(`API explorer   http://localhost:${port}/docs\n`))
  }
})
