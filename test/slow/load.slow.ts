import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../support/app/eventually.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { newEmail } from '../support/http/requests.ts'
import { startControlService } from '../support/load/outage.ts'
import { ask, askPatiently, quantile, registration, tally } from '../support/load/traffic.ts'
import { scaled } from '../support/processes/scale.ts'
import { type ServiceProcess, startProcess } from '../support/processes/service-process.ts'
import { startSmtpPeer } from '../support/servers/smtp-peer.ts'

type MisbehavingClients = { readonly sockets: Socket[]; disconnect(): void }

const HEAD = 'Host: localhost\r\nContent-Type: application/json\r\n'

async function connectAll(port: number, count: number, behave: (socket: Socket) => void): Promise<MisbehavingClients> {
  const sockets: Socket[] = []
  for (let index = 0; index < count; index++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    behave(socket)
    sockets.push(socket)
  }
  return {
    sockets,
    disconnect() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Sends a text one byte at a time. */
function drip(socket: Socket, text: string, everyMs: number): void {
  let sent = 0
  const timer = setInterval(() => void socket.write(text[sent++ % text.length] ?? 'x'), everyMs)
  socket.on('close', () => clearInterval(timer))
}

/** Clients that connect and send nothing. */
function idleClients(port: number, count: number): Promise<MisbehavingClients> {
  return connectAll(port, count, () => undefined)
}

function slowHeaders(port: number, count: number): Promise<MisbehavingClients> {
  return connectAll(port, count, (socket) => {
    socket.write('GET /heartbeat HTTP/1.1\r\nX-Slow: ')
    drip(socket, 'a', 400)
  })
}

function slowBodies(port: number, count: number): Promise<MisbehavingClients> {
  return connectAll(port, count, (socket) => {
    socket.write(`POST /login/ HTTP/1.1\r\n${HEAD}Content-Length: 50000\r\n\r\n`)
    drip(socket, '{', 400)
  })
}

/** Clients that request the list of all users and never read the response. */
function slowReaders(port: number, count: number, headers: string): Promise<MisbehavingClients> {
  return connectAll(port, count, (socket) => {
    socket.pause()
    socket.write(`GET /users/ HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n`)
  })
}

/** Clients that send a complete login at the same moment and wait for its response until they disconnect. */
async function loginsAtOnce(port: number, count: number, email: string): Promise<MisbehavingClients> {
  const body = JSON.stringify({ email, password: 'not the right one' })
  const clients = await connectAll(port, count, () => undefined)
  for (const socket of clients.sockets) socket.write(`POST /login/ HTTP/1.1\r\n${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
  return clients
}

/** Clients that request password resets for unknown addresses without a pause, until they disconnect. */
async function flood(port: number, count: number): Promise<MisbehavingClients & { readonly statuses: number[] }> {
  const statuses: number[] = []
  // All clients connect before the first one sends, because the test measures connecting during the flood.
  const clients = await connectAll(port, count, () => undefined)
  for (const socket of clients.sockets) {
    const send = () => {
      const body = JSON.stringify({ email: newEmail() })
      socket.write(`POST /forgot-password/ HTTP/1.1\r\n${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
    }
    socket.setEncoding('latin1').on('data', (answer: string) => {
      const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]
      if (status === undefined) return
      statuses.push(Number(status))
      send()
    })
    send()
  }
  return { ...clients, statuses }
}

const ADMIN = { email: 'admin@example.com', password: 'a password for the admin' }
const ROUNDS = scaled(3, 8)
const MOST_ROUNDS = 3 * ROUNDS
const ROUND_MS = scaled(1500, 10_000)
const FLOODERS = 200
// Batches of writes take 20 ms each, and other work gets as long in between.
const TURNS_MS = 80
const FLOOD_MS = scaled(2000, 15_000)
// Few enough that the password queue accepts all of them: a rejected login costs no hash anyway.
const ABORTED_AT_ONCE = 30
// The connections and requests of ten disconnected clients cost about as much as one login, and up to three logins are already being hashed
// when their clients disconnect, perhaps the next ones too. If all were hashed, the cost would be 1.
const ABORTED_COST = 1 / 3
// A login waits only for hashes that have started; the rest is a margin for a busy machine.
const FEW_LOGINS = 5
const SPARED_MS = 50

type Scene = { readonly service: ServiceProcess; readonly port: number; readonly bearer: string; readonly folder: string }

async function setScene(t: TestContext): Promise<Scene> {
  const folder = temporaryFolder(t)
  const peer = await startSmtpPeer(t)
  const env = { SMTP_URL: peer.url, ADMIN_EMAIL: ADMIN.email, ADMIN_PASSWORD: ADMIN.password, LOG_LEVEL: 'warn' }
  const service = await startProcess(t, env, folder)
  const { body } = await askPatiently(service.url, 'POST', '/login/', ADMIN)
  return { service, folder, port: Number(new URL(service.url).port), bearer: (body as { token: string }).token }
}

/** More users than fit into the buffers between a server and a client that does not read. */
function populate(folder: string, count: number): void {
  const connection = new DatabaseSync(join(folder, 'data', 'latchkey.db'), { timeout: 5000 })
  connection.exec(`
    with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
    insert into users (email, email_key, password_hash, first_name, first_name_folded, last_name, last_name_folded, role, verified, created_at)
    select 'crowd' || i || '@example.com', 'crowd' || i || '@example.com', 'none', 'First', 'first', 'Last', 'last', 'user', true, 0 from n`)
  connection.close()
}

/** Sends one request after the other like a normal client. Returns how long each took. */
async function normalClient({ service, bearer }: Scene, forMs: number): Promise<number[]> {
  const times: number[] = []
  const endsAt = performance.now() + forMs
  while (performance.now() < endsAt) {
    const answer = await ask(service.url, 'GET', '/users/me', undefined, { authorization: `Bearer ${bearer}` })
    assert.equal(answer.status, 200, JSON.stringify(answer))
    times.push(answer.tookMs)
    await sleep(2)
  }
  return times
}

const MISBEHAVING = { idleClients: 1000, slowHeaders: 200, slowBodies: 200, slowReaders: 5 }
const MISBEHAVING_CONNECTIONS = MISBEHAVING.idleClients + MISBEHAVING.slowHeaders + MISBEHAVING.slowBodies + MISBEHAVING.slowReaders

function openFiles({ process: { pid } }: ServiceProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

test('200: a thousand misbehaving clients do not slow normal clients', async (t) => {
  const scene = await setScene(t)
  populate(scene.folder, 100_000)
  const quiet: number[] = []
  const crowded: number[] = []
  const rounds: { median: number; p99: number }[] = []
  // Other work on the machine varies; an effect of the misbehaving clients would show in most rounds, however many there are.
  const usual = (figure: (round: { median: number; p99: number }) => number) => quantile(rounds.map(figure), 0.5)
  const isSlowed = () => usual(({ median }) => median) >= 2 || usual(({ p99 }) => p99) >= 3
  for (let round = 0; round < ROUNDS || (round < MOST_ROUNDS && isSlowed()); round++) {
    const before = await normalClient(scene, ROUND_MS)
    const misbehaving: MisbehavingClients[] = [
      await idleClients(scene.port, MISBEHAVING.idleClients),
      await slowHeaders(scene.port, MISBEHAVING.slowHeaders),
      await slowBodies(scene.port, MISBEHAVING.slowBodies),
      await slowReaders(scene.port, MISBEHAVING.slowReaders, `Authorization: Bearer ${scene.bearer}`),
    ]
    // The service sends the list until the socket buffers are full.
    await sleep(1500)
    await until('the service has accepted them', () => openFiles(scene.service) > MISBEHAVING_CONNECTIONS)
    const present = misbehaving.flatMap(({ sockets }) => sockets).filter(({ destroyed }) => !destroyed).length
    assert.equal(present, MISBEHAVING_CONNECTIONS, 'all of them are connected')
    const beside = await normalClient(scene, ROUND_MS)
    for (const { disconnect } of misbehaving) disconnect()
    quiet.push(...before)
    crowded.push(...beside)
    const excess = (share: number, sparedMs: number) => (quantile(beside, share) - sparedMs) / quantile(before, share)
    rounds.push({ median: excess(0.5, 5), p99: excess(0.99, 50) })
  }
  const [p50, p99] = [0.5, 0.99].map((share) => quantile(crowded, share) / quantile(quiet, share))
  t.diagnostic(
    `${MISBEHAVING_CONNECTIONS} misbehaving connections at once; ${quiet.length} normal requests without and ${crowded.length} with them, all 200; ` +
      `median ${p50?.toFixed(2)} times, p99 ${p99?.toFixed(2)} times (${quantile(quiet, 0.99).toFixed(1)} and ${quantile(crowded, 0.99).toFixed(1)} ms)`,
  )
  assert.ok(usual(({ median }) => median) < 2, `the median: ${JSON.stringify(rounds)}`)
  assert.ok(usual(({ p99 }) => p99) < 3, `p99: ${JSON.stringify(rounds)}`)
  assert.equal(scene.service.process.exitCode, null)
})

// As long as many batches of writes. Without turns for other work in between, a request would wait for all of them.
const FLOODED_MS = 2000

/** Sends each request on a new connection. Returns how long each took. */
async function newConnections({ port }: Scene, forMs: number): Promise<number[]> {
  const times: number[] = []
  const endsAt = performance.now() + forMs
  while (performance.now() < endsAt) {
    const atMs = performance.now()
    const [response] = await once(request({ port, host: '127.0.0.1', path: '/heartbeat', agent: false }).end(), 'response')
    assert.equal(response.statusCode, 200)
    await once(response.resume(), 'end')
    times.push(performance.now() - atMs)
    await sleep(20)
  }
  return times
}

test('200: two hundred clients that write without a pause do not block normal clients', async (t) => {
  const control = await startControlService(t)
  const scene = await setScene(t)
  const together = () => Promise.all([normalClient(scene, FLOOD_MS), newConnections(scene, FLOOD_MS)])
  const quiet = await together()
  const { statuses, disconnect } = await flood(scene.port, FLOODERS)
  const beside = await together()
  disconnect()
  const machineMs = await control.slowestMs()
  const inWords = (times: number[]) => `${times.length}, median ${quantile(times, 0.5).toFixed(1)}, slowest ${slowest(times)} ms`
  t.diagnostic(
    `${statuses.length} requests of ${FLOODERS} clients; normal requests ${inWords(beside[0])} (${inWords(quiet[0])} without them), on new ` +
      `connections ${inWords(beside[1])} (${inWords(quiet[1])}); control service at most ${Math.round(machineMs)} ms`,
  )
  assert.deepEqual(
    statuses.filter((status) => status !== 200 && status !== 503),
    [],
  )
  assert.ok(statuses.length > FLOODERS, 'they were served meanwhile')
  // A busy machine accepts too few new connections for a meaningful median.
  const [medianMs, usualMs] = [quantile(beside[0], 0.5), 20 * quantile(quiet[0], 0.5) + TURNS_MS]
  assert.ok(medianMs <= usualMs, `the median of good requests is within ${usualMs} ms: ${medianMs}`)
  const limitMs = slowest(quiet.flat()) + FLOODED_MS + machineMs
  assert.ok(slowest(beside.flat()) <= limitMs, `all are within ${limitMs} ms: ${slowest(beside.flat())}`)
})

function slowest(times: readonly number[]): number {
  return Math.round(Math.max(...times))
}

/** Processor time of a process so far, in milliseconds. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

test('logins whose client has disconnected are not hashed and do not delay others', async (t) => {
  const scene = await setScene(t)
  const pid = scene.service.process.pid ?? 0
  const login = async () => {
    const { status, tookMs } = await ask(scene.service.url, 'POST', '/login/', ADMIN)
    assert.equal(status, 200)
    return tookMs
  }
  const rounds = scaled(7, 60)
  const aborted = rounds * ABORTED_AT_ONCE
  const honest: number[] = []
  const next: number[] = []
  let honestCpuMs = 0
  let besideCpuMs = 0
  for (let index = 0; index < 5; index++) await login()
  // Both alternate on the same machine.
  for (let round = 0; round < rounds; round++) {
    const before = cpuMs(pid)
    for (let index = 0; index < 4; index++) honest.push(await login())
    const between = cpuMs(pid)
    const { disconnect } = await loginsAtOnce(scene.port, ABORTED_AT_ONCE, ADMIN.email)
    // A request that is served after them shows that they have been received, or disconnected.
    await ask(scene.service.url, 'GET', '/heartbeat')
    disconnect()
    await ask(scene.service.url, 'GET', '/heartbeat')
    // It is behind all of them in the queue, so their cost is included when it is answered.
    next.push(await login())
    honestCpuMs += between - before
    besideCpuMs += cpuMs(pid) - between
  }
  const equivalent = besideCpuMs / (honestCpuMs / honest.length) - rounds
  const [honestMs, nextMs] = [quantile(honest, 0.5), quantile(next, 0.5)]
  t.diagnostic(
    `${aborted} aborted logins cost the processor time of ${Math.round(equivalent)} whole ones; the next login took ` +
      `${(nextMs / honestMs).toFixed(1)} times as long as others (${honestMs.toFixed(1)} and ${nextMs.toFixed(1)} ms)`,
  )
  assert.ok(equivalent < aborted * ABORTED_COST, `${equivalent} of ${aborted}`)
  assert.ok(nextMs < FEW_LOGINS * honestMs + SPARED_MS, `the next login waits for a few others at most: ${nextMs} ms, not ${honestMs}`)
})

test('SIGTERM under load: every request that was sent gets its complete response, also on persistent connections', async (t) => {
  for (let round = 0; round < scaled(3, 20); round++) await stopUnderLoad(t)
})

type Sent = { readonly status: number; readonly error: string; readonly isReused: boolean; readonly atMs: number }

// An idle connection stays open this long after the signal, less a margin. A client that a busy machine delays further finds it closed.
const KEPT_MS = 900
const STOP_CLIENTS = 32

async function stopUnderLoad(t: TestContext): Promise<void> {
  const { service, port, bearer } = await setScene(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 40 })
  t.after(() => agent.destroy())
  const outcomes: Sent[] = []
  let isOver = false

  function send(method: string, path: string, body?: string): Promise<Sent> {
    const atMs = performance.now()
    return new Promise((resolve) => {
      const headers = {
        authorization: `Bearer ${bearer}`,
        ...(body && { 'content-type': 'application/json', 'content-length': body.length }),
      }
      const sent = request({ port, host: '127.0.0.1', method, path, headers, agent }, (response) => {
        response.resume()
        response.on('end', () => resolve({ status: response.statusCode ?? 0, error: '', isReused: sent.reusedSocket, atMs }))
        response.on('error', (error) => resolve({ status: 0, error: `cut: ${error.message}`, isReused: sent.reusedSocket, atMs }))
      })
      sent.on('error', (error: NodeJS.ErrnoException) =>
        resolve({ status: 0, error: error.code ?? error.message, isReused: sent.reusedSocket, atMs }),
      )
      sent.end(body)
    })
  }

  async function client(index: number): Promise<void> {
    while (!isOver) {
      const isWriter = index % 8 === 0
      const outcome = isWriter ? await send('POST', '/register/', JSON.stringify(registration(newEmail()))) : await send('GET', '/users/me')
      // The service no longer listens, so the request was not sent.
      if (outcome.error === 'ECONNREFUSED') return
      outcomes.push(outcome)
      // Some clients pause between two requests, so that their connection is idle when the signal arrives.
      await sleep(Math.random() * (index % 3) * 60)
    }
  }

  const clients = Promise.all(Array.from({ length: STOP_CLIENTS }, (_, index) => client(index)))
  await sleep(800 + Math.random() * 400)
  const exited = once(service.process, 'exit')
  const signalledAt = performance.now()
  service.process.kill('SIGTERM')
  const [code] = await exited
  isOver = true
  await clients
  // A connection opened after the signal may be rejected, even if the operating system has accepted it.
  const isTooLate = ({ status, isReused, atMs }: Sent) => status === 0 && atMs > signalledAt + (isReused ? KEPT_MS : 0)
  const tooLate = outcomes.filter(isTooLate)
  const wrong = outcomes.filter((outcome) => ![200, 201].includes(outcome.status) && !isTooLate(outcome))
  const counts = tally(outcomes.map(({ status }) => ({ status, what: '', atMs: 0, tookMs: 0, retryAfter: null, body: null })))
  t.diagnostic(
    `${outcomes.length} requests were sent (${counts}), ${wrong.length} without the right answer, ${tooLate.length} sent too late; exit code ${code}`,
  )
  assert.deepEqual(wrong, [])
  assert.equal(code, 0)
}
