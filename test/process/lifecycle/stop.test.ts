import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text as readAll } from 'node:stream/consumers'
import { test } from 'node:test'
import { until } from '../../support/app/eventually.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { startMain } from '../../support/processes/main-process.ts'
import { npmStart } from '../../support/processes/npm-start.ts'

const STOP_DEADLINE_MS = 60_000
const PATIENT = { timeout: 300_000 }
// The deadline that ends unfinished requests never comes, so that a service which exits has not waited for it.
const LONG_TIMERS =
  'const { setTimeout: start } = globalThis; globalThis.setTimeout = (run, ms, ...rest) => start(run, ms < 5000 ? ms : 3_600_000, ...rest)'
const WITHOUT_DEADLINE = ['--import', `data:text/javascript,${encodeURIComponent(LONG_TIMERS)}`]
// The clock of the service runs a thousand times slower, so that a busy machine cannot be late.
const SLOW_CLOCK =
  "if (process.argv[1]?.endsWith('main.ts')) { const now = performance.now.bind(performance); performance.now = () => now() / 1000 }"

/** A request whose second half is sent when the test calls `finish`. */
async function startRequest(port: number): Promise<{ finish(): Promise<string> }> {
  const body = '{"email":"mia@example.com","password":"wrong horse"}'
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const received = readAll(socket)
  const head = `POST /login/ HTTP/1.1\r\nHost: a.io\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  socket.write(head + body.slice(0, 10))
  // The service has read the head once it answers a later request.
  await fetch(`http://127.0.0.1:${port}/heartbeat`)
  return {
    finish() {
      socket.write(body.slice(10))
      return received
    },
  }
}

// A terminal that is closed sends SIGHUP.
for (const name of ['SIGTERM', 'SIGHUP'] as const) {
  test(`${name}: the service stops accepting connections, finishes the request in flight, and exits with 0`, PATIENT, async (t) => {
    const service = await startMain(t, { cwd: temporaryFolder(t), nodeFlags: WITHOUT_DEADLINE })
    const request = await startRequest(service.port)
    service.child.kill(name)
    await service.untilSaid(/"msg":"stopping"/)
    // Existing connections are still served; a new one is not.
    await until('new connections are rejected', () => isRejected(service.port))
    const answer = await request.finish()
    assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*\{"detail":"Wrong email or password"\}$/)
    const { code, signal, stdout, stderr } = await service.ended
    assert.deepEqual([code, signal, stderr], [0, null, ''])
    assert.match(stdout, /"msg":"stopping"[\s\S]*"msg":"stopped"/)
  })
}

test('SIGTERM: when sessions were last used is recorded before the process ends', async (t) => {
  const cwd = temporaryFolder(t)
  const admin = { email: 'ada@example.com', password: 'correct horse battery' }
  const service = await startMain(t, { cwd, env: { ADMIN_EMAIL: admin.email, ADMIN_PASSWORD: admin.password } })
  const headers = { 'content-type': 'application/json' }
  const login = await fetch(`${service.url}/login/`, { method: 'POST', headers, body: JSON.stringify(admin) })
  const { token } = (await login.json()) as { token: string }
  assert.equal((await fetch(`${service.url}/auth/check`, { headers: { authorization: `Bearer ${token}` } })).status, 200)
  service.child.kill('SIGTERM')
  assert.equal((await service.ended).code, 0)
  const database = new DatabaseSync(join(cwd, 'data', 'latchkey.db'))
  const [session] = database.prepare('select created_at, last_seen_at from sessions').all()
  database.close()
  assert.ok(Number(session?.['last_seen_at']) >= Number(session?.['created_at']), JSON.stringify(session))
})

async function isRejected(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isRefused = await once(socket, 'connect').then(
    () => false,
    () => true,
  )
  socket.destroy()
  return isRefused
}

test('a second signal ends the service at once', PATIENT, async (t) => {
  const service = await startMain(t, { cwd: temporaryFolder(t), nodeFlags: WITHOUT_DEADLINE })
  await startRequest(service.port)
  service.child.kill('SIGINT')
  await service.untilSaid(/"msg":"stopping"/)
  service.child.kill('SIGINT')
  const { code } = await service.ended
  assert.equal(code, 1)
})

test('SIGTERM: requests on connections that are not accepted yet are all answered', async (t) => {
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
  const correct = (await answers).filter((answer) => answer.startsWith('HTTP/1.1 200 OK\r\n') && answer.endsWith('{"status":"ok"}'))
  assert.equal(correct.length, 100)
  assert.equal((await ended).code, 0)
})

test('a stdout that is not read neither stops the service nor keeps it from stopping', async (t) => {
  const { child, url } = await startMain(t, { cwd: temporaryFolder(t) })
  child.stdout?.pause()
  // Far more lines than a pipe holds.
  for (let round = 0; round < 28; round++) {
    const responses = await Promise.all(Array.from({ length: 50 }, () => fetch(`${url}/logout/`, { method: 'POST' })))
    for (const { status } of responses) assert.equal(status, 401)
  }
  assert.equal((await fetch(`${url}/heartbeat`)).status, 200)
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit', { signal: AbortSignal.timeout(STOP_DEADLINE_MS) }), [0, null])
})

test('SIGINT twice at once, as npm and the terminal send it on Ctrl+C, is a graceful shutdown', async (t) => {
  // However late npm forwards its signal.
  const { npm, servicePid, output } = await npmStart(t, { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(SLOW_CLOCK)}` })
  process.kill(servicePid, 'SIGINT')
  npm.kill('SIGINT')
  await once(npm, 'close', { signal: AbortSignal.timeout(STOP_DEADLINE_MS) })
  assert.match(output(), /"msg":"stopping"[\s\S]*"msg":"stopped"/)
})

test('an uncaught error is logged, and the service finishes what is in flight and exits with 1', async (t) => {
  const throwOnSignal = `process.on('SIGUSR2', () => { throw new Error('uncaught in this test') })`
  const nodeFlags = ['--import', `data:text/javascript,${encodeURIComponent(throwOnSignal)}`]
  const service = await startMain(t, { cwd: temporaryFolder(t), nodeFlags })
  const request = await startRequest(service.port)
  service.child.kill('SIGUSR2')
  await service.untilSaid(/uncaught in this test/)
  assert.match(await request.finish(), /Wrong email or password/)
  assert.equal((await service.ended).code, 1)
})

test('an unhandled rejection is logged, and the service continues', async (t) => {
  const rejectOnSignal = `process.on('SIGUSR2', () => { void Promise.reject(new Error('unhandled in this test')) })`
  const nodeFlags = ['--import', `data:text/javascript,${encodeURIComponent(rejectOnSignal)}`]
  const service = await startMain(t, { cwd: temporaryFolder(t), nodeFlags })
  service.child.kill('SIGUSR2')
  await service.untilSaid(/unhandled in this test/)
  assert.equal((await fetch(`${service.url}/heartbeat`)).status, 200)
})
