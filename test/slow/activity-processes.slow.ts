import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test as plainTest, type TestContext } from 'node:test'
import type { DatabaseTarget } from '../../src/storage/database.ts'
import { statement } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { until } from '../support/app/eventually.ts'
import { type FreshDatabase, freshDatabase, test } from '../support/databases/databases.ts'
import { type ServiceProcess, startProcess } from '../support/processes/service-process.ts'

const REQUESTS = 20
const SUM = statement<{ requests: number }>('select cast(sum(requests) as bigint) as requests from activity')

async function startCounting(t: TestContext, target: FreshDatabase, workers: number): Promise<ServiceProcess> {
  const service = await startProcess(t, { DATABASE_URL: target.setting, WORKERS: String(workers) })
  await until('every worker listens', () => service.output().split('"msg":"listening"').length === workers + 1)
  // Each on its own connection, so that the workers take turns.
  for (let n = 0; n < REQUESTS; n++) assert.equal((await fetch(`${service.url}/ready`, { headers: { connection: 'close' } })).status, 200)
  return service
}

async function stop({ process: child }: ServiceProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  assert.deepEqual(await exit, [0, null])
}

async function countedIn(target: DatabaseTarget): Promise<number | undefined> {
  const db = await openDatabase(target)
  try {
    return (await db.first(SUM))?.requests
  } finally {
    await db.close()
  }
}

test('the status page has the requests of all workers, also after they have stopped', async (t) => {
  const target = await freshDatabase(t, t.database)
  await stop(await startCounting(t, target, 2))
  assert.equal(await countedIn(target), REQUESTS)
  await stop(await startCounting(t, target, 1))
  assert.equal(await countedIn(target), 2 * REQUESTS, 'a restart continues')
})

plainTest('the status page has the requests of two services on one PostgreSQL', async (t) => {
  const target = await freshDatabase(t, 'postgres')
  const services = [await startCounting(t, target, 1), await startCounting(t, target, 2)]
  await Promise.all(services.map(stop))
  assert.equal(await countedIn(target), 2 * REQUESTS)
})
