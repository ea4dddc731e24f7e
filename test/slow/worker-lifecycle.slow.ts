import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test as nodeTest } from 'node:test'
import { until } from '../support/app/eventually.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { freshDatabase, temporaryFolder, test } from '../support/databases/databases.ts'
import { fetchPatiently } from '../support/http/patience.ts'
import { login, newEmail, register } from '../support/http/requests.ts'
import { finished, MAIN, startNode } from '../support/processes/processes.ts'
import { startProcess } from '../support/processes/service-process.ts'

const DEADLINE_MS = 60_000
type Metrics = Map<string, number>

async function scrape(url: string): Promise<Metrics> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]))
}

/** Sends a request on a new connection, so that the workers take turns. */
async function get(url: string, deadlineMs = DEADLINE_MS): Promise<number> {
  const response = await fetch(url, { headers: { connection: 'close' }, signal: AbortSignal.timeout(deadlineMs) })
  await response.arrayBuffer()
  return response.status
}

test('several workers share one port, one database and one set of metrics, and stop together', async (t) => {
  const target = await freshDatabase(t, t.database)
  const env = { WORKERS: '3', METRICS_ENABLED: 'true', DATABASE_URL: target.setting }
  const service = await startProcess(t, env)
  await until('three workers listen', () => service.output().split('"msg":"listening"').length === 4, DEADLINE_MS)
  const ready = () => fetchPatiently(`${service.url}/ready`, { headers: { connection: 'close' } })
  const answers = await Promise.all(Array.from({ length: 30 }, ready))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  // A worker that does not answer within a second is left out of a collection.
  const counted = async () => (await scrape(service.url)).get('latchkey_http_requests_total{handler="/ready",method="GET",status="2xx"}')
  await until('the metrics have the requests of all workers', async () => (await counted()) === 30, DEADLINE_MS)

  const emails = Array.from({ length: 12 }, () => newEmail())
  // Three at a time: on a busy machine more of them would wait too long for their password hash.
  for (let index = 0; index < emails.length; index += 3)
    await Promise.all(
      emails.slice(index, index + 3).map(async (email) => {
        const { payload } = register({ email })
        const response = await fetchPatiently(`${service.url}/register/`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', connection: 'close' },
          body: String(payload),
        })
        assert.equal(response.status, 201)
      }),
    )
  await until('every mail is sent', () => emails.every((email) => service.output().includes(`Mail to ${email}`)), DEADLINE_MS)
  for (const email of emails) assert.equal(service.output().split(`Mail to ${email}`).length, 2, 'a mail is sent once')

  service.process.kill('SIGTERM')
  assert.deepEqual(await once(service.process, 'close'), [0, null])
  assert.equal(service.output().split('"stopped"').length, 4)
})

test('429: workers count the requests of one network together', async (t) => {
  const target = await freshDatabase(t, t.database)
  const databaseUrl = target.setting
  const service = await startProcess(t, { WORKERS: '2', DATABASE_URL: databaseUrl, RATE_LIMITS: 'login:ip=7/h' })
  await until('two workers listen', () => service.output().split('"msg":"listening"').length === 3, DEADLINE_MS)
  const { payload } = login({ email: newEmail() })
  const headers = { 'content-type': 'application/json', connection: 'close' }
  const statuses: number[] = []
  // Two at a time, each on its own connection, so that both workers serve and none waits too long for a password hash.
  for (let round = 0; round < 15; round++) {
    const send = () => fetchPatiently(`${service.url}/login/`, { method: 'POST', headers, body: String(payload) })
    for (const { status } of await Promise.all([send(), send()])) statuses.push(status)
  }
  assert.deepEqual([statuses.filter((status) => status === 400).length, statuses.filter((status) => status === 429).length], [7, 23])
  const refusals = () => [...service.output().matchAll(/"pid":(\d+),[^\n]*"msg":"refused"/g)].map(([, pid]) => pid)
  await until('every refusal is logged', () => refusals().length >= 30, DEADLINE_MS)
  assert.equal(new Set(refusals()).size, 2, 'both workers served')
})

nodeTest('a worker that dies is replaced while the others continue to serve', async (t) => {
  const service = await startProcess(t, { WORKERS: '2' })
  const listeners = () => [...service.output().matchAll(/"pid":(\d+),[^\n]*"msg":"listening"/g)].map(([, pid]) => Number(pid))
  await until('two workers listen', () => listeners().length === 2, DEADLINE_MS)
  const [victim] = listeners()
  assert.ok(victim)
  process.kill(victim, 'SIGKILL')
  await until('its death is logged', () => service.output().includes('a worker has died and is replaced'), DEADLINE_MS)
  assert.equal(await get(`${service.url}/heartbeat`), 200)
  await until('another listens', () => listeners().length === 3, DEADLINE_MS)
  service.process.kill('SIGTERM')
  assert.deepEqual(await once(service.process, 'exit'), [0, null])
})

nodeTest('a signal that also reaches the workers, as from a closed terminal, stops all of them gracefully', async (t) => {
  const service = await startProcess(t, { WORKERS: '2' })
  const listeners = () => [...service.output().matchAll(/"pid":(\d+),[^\n]*"msg":"listening"/g)].map(([, pid]) => Number(pid))
  await until('two workers listen', () => listeners().length === 2, DEADLINE_MS)
  for (const pid of listeners()) process.kill(pid, 'SIGHUP')
  service.process.kill('SIGHUP')
  assert.deepEqual(await once(service.process, 'close'), [0, null])
  assert.equal(service.output().split('"stopped"').length, 3)
})

nodeTest('a service that is stopped while its workers start exits with 0', async (t) => {
  // The first worker listens and prints the welcome text; the others are starting at that moment.
  const service = await startProcess(t, { WORKERS: '4' })
  service.process.kill('SIGTERM')
  assert.deepEqual(await once(service.process, 'exit', { signal: AbortSignal.timeout(DEADLINE_MS) }), [0, null])
})

nodeTest('a service that is stopped before its first worker listens exits with 0 and prints no error', async (t) => {
  const child = startNode(t, MAIN, [], { cwd: temporaryFolder(t), env: { PORT: '0', WORKERS: '2', SECRET_KEY: TEST_SECRET } })
  const ended = finished(child)
  const childrenOf = (pid: number) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  await until('the first worker is born', () => childrenOf(child.pid ?? 0) !== '', DEADLINE_MS)
  child.kill('SIGTERM')
  const { code, stderr } = await ended
  assert.deepEqual([code, stderr], [0, ''])
})

nodeTest('workers do not outlive the process that started them', async (t) => {
  const service = await startProcess(t, { WORKERS: '2' })
  const listeners = () => [...service.output().matchAll(/"pid":(\d+),[^\n]*"msg":"listening"/g)].map(([, pid]) => Number(pid))
  await until('two workers listen', () => listeners().length === 2, DEADLINE_MS)
  service.process.kill('SIGKILL')
  await until('both are gone', () => listeners().every((pid) => !isAlive(pid)), DEADLINE_MS)
})

nodeTest('a port that is in use is reported once, and the process exits with 1', async (t) => {
  const first = await startProcess(t)
  const port = new URL(first.url).port
  await assert.rejects(startProcess(t, { WORKERS: '2', PORT: port }), (error: Error) => {
    assert.equal(error.message.match(/PORT: \d+ on 127\.0\.0\.1 is in use by another program/g)?.length, 1)
    return true
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
