import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test as nodeTest } from 'node:test'
import postgres from 'postgres'
import { until } from '../support/app/eventually.ts'
import { freshDatabase } from '../support/databases/databases.ts'
import { startProcess } from '../support/processes/service-process.ts'

const DEADLINE_MS = 60_000
/** Of a request that may reach a worker which does not answer. */
const PATIENCE_MS = 5000

/** Sends a request on a new connection, so that the workers take turns. */
async function get(url: string, deadlineMs = DEADLINE_MS): Promise<number> {
  const response = await fetch(url, { headers: { connection: 'close' }, signal: AbortSignal.timeout(deadlineMs) })
  await response.arrayBuffer()
  return response.status
}

nodeTest('a worker that dies while metrics are collected does not affect the others', async (t) => {
  const service = await startProcess(t, { WORKERS: '3', METRICS_ENABLED: 'true' })
  const listeners = () => [...service.output().matchAll(/"pid":(\d+),[^\n]*"msg":"listening"/g)].map(([, pid]) => Number(pid))
  await until('three workers listen', () => listeners().length === 3, DEADLINE_MS)
  const [silent, ...askers] = listeners()
  assert.ok(silent)
  // A worker that does not answer delays the collection until the workers that requested it are gone.
  process.kill(silent, 'SIGSTOP')
  const scrapes = Array.from({ length: 20 }, () => get(`${service.url}/metrics`, PATIENCE_MS).catch(() => 0))
  const beats = () =>
    get(`${service.url}/heartbeat`, PATIENCE_MS).then(
      (status) => status === 200,
      () => false,
    )
  for (let count = 0; count < 6; count++) await until('a heart beats behind the scrapes', beats, DEADLINE_MS)
  for (const pid of askers) process.kill(pid, 'SIGKILL')
  await Promise.all(scrapes)
  // A port chosen by the system stays the same as long as a worker listens on it.
  await until('the two are replaced', () => listeners().length === 5, DEADLINE_MS)
  process.kill(silent, 'SIGKILL')
  await until('all three are replaced', () => listeners().length === 6, DEADLINE_MS)
  assert.equal(await get(`${service.url}/metrics`), 200)
  assert.doesNotMatch(service.output(), /MaxListeners|Unhandled/)
})

nodeTest('a worker that hangs is killed after the shutdown deadline, and the service exits with 1', async (t) => {
  const service = await startProcess(t, { WORKERS: '3' })
  const listeners = () => [...service.output().matchAll(/"pid":(\d+),[^\n]*"msg":"listening"/g)].map(([, pid]) => Number(pid))
  await until('three workers listen', () => listeners().length === 3, DEADLINE_MS)
  const [, hung = 0] = listeners()
  t.after(() => isAlive(hung) && process.kill(hung, 'SIGKILL'))
  process.kill(hung, 'SIGSTOP')
  service.process.kill('SIGTERM')
  assert.deepEqual(await once(service.process, 'close', { signal: AbortSignal.timeout(DEADLINE_MS) }), [1, null])
  assert.equal(service.output().split('"stopped"').length, 3, 'the others stop as ever')
  assert.match(service.output(), new RegExp(`"workers":\\[${hung}\\],"msg":"workers that did not stop are killed"`))
  assert.ok(!isAlive(hung))
})

nodeTest('a worker that is stopped right after it began to listen stops gracefully', async (t) => {
  const target = await freshDatabase(t, 'postgres')
  const env = { WORKERS: '2', DATABASE_URL: target.setting }
  const first = await startProcess(t, env)
  first.process.kill('SIGTERM')
  await once(first.process, 'exit')
  // The first write of a worker after it listens waits for this lock.
  const sql = postgres(target.setting, { max: 1, onnotice: () => undefined })
  t.after(() => sql.end({ timeout: 0 }))
  const lock = await sql.reserve()
  await lock`begin`
  await lock`lock table secret_uses in access exclusive mode`
  const service = await startProcess(t, env)
  await until('two workers listen', () => service.output().split('"msg":"listening"').length === 3, DEADLINE_MS)
  service.process.kill('SIGTERM')
  assert.deepEqual(await once(service.process, 'close', { signal: AbortSignal.timeout(DEADLINE_MS) }), [0, null])
  assert.equal(service.output().split('"stopped"').length, 3)
  await lock`rollback`
  lock.release()
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
