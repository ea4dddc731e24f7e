import assert from 'node:assert/strict'
import { test as plainTest } from 'node:test'
import { Refusal } from '../../src/model/refusal.ts'
import { migrate, openDatabase } from '../../src/storage/open.ts'
import { ping } from '../../src/storage/repositories/operations/operations.repository.ts'
import { until } from '../support/app/eventually.ts'
import { freshDatabase, test } from '../support/databases/databases.ts'
import { startPostgres } from '../support/databases/postgres-server.ts'
import { startProcess, untilPrinted } from '../support/processes/service-process.ts'
import { startBrokenProxy } from '../support/servers/broken-proxy.ts'

test('errors of the database are counted for every user of it, and rules that refuse are not', async (t) => {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const db = await openDatabase(target)
  await ping(db)
  await assert.rejects(
    db.transaction(async () => {
      throw new Refusal('email_taken')
    }),
  )
  assert.equal(db.errorCount(), 0)
  await db.close()
  await assert.rejects(ping(db), { code: 'unavailable' })
  await assert.rejects(db.transaction(ping), { code: 'unavailable' })
  assert.equal(db.errorCount(), 2)
})

test('work that was given up because its client disconnected is not an error of the database', async (t) => {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const db = await openDatabase(target)
  t.after(() => db.close())
  await assert.rejects(db.transaction(ping, { signal: AbortSignal.abort() }), { name: 'Refusal' })
  const leaving = new AbortController()
  await assert.rejects(
    db.transaction(async () => leaving.abort(), { signal: leaving.signal }),
    { name: 'Refusal' },
  )
  assert.equal(db.errorCount(), 0)
})

plainTest('PostgreSQL: an outage and its end are observed once each, however many statements fail', async (t) => {
  const target = await freshDatabase(t, 'postgres')
  const url = new URL(target.setting)
  const proxy = await startBrokenProxy(t, Number(url.port))
  const observed: string[] = []
  const db = await openDatabase(
    { kind: 'postgres', url: `postgres://postgres@127.0.0.1:${proxy.port}${url.pathname}` },
    { onOutage: (reason) => observed.push(`outage: ${reason}`), onRecovery: () => observed.push('recovery') },
  )
  t.after(() => db.close())
  const isServed = () =>
    ping(db).then(
      () => true,
      () => false,
    )
  for (const passage of ['closed', 'blackhole'] as const) {
    assert.ok(await isServed())
    proxy.set(passage)
    const failures = Array.from({ length: 20 }, () => ping(db))
    for (const { status } of await Promise.allSettled(failures)) assert.equal(status, 'rejected')
    await until('the outage is observed', async () => observed.length === 1 || !(await isServed()))
    await until('the outage is observed', () => observed.length === 1)
    proxy.set('open')
    await until('the service recovers', isServed)
    assert.match(observed.splice(0).join('\n'), /^outage: PostgreSQL: .+\nrecovery$/, passage)
  }
})

plainTest('the loss and the return of PostgreSQL are logged', async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const service = await startProcess(t, { DATABASE_URL: server.url, LOG_LEVEL: 'warn' })
  const statusOf = async () => (await fetch(`${service.url}/ready`)).status
  assert.equal(await statusOf(), 200)
  await server.end('SIGINT')
  await until('the service is not ready', async () => (await statusOf()) === 503)
  await server.start()
  await until('the service is ready', async () => (await statusOf()) === 200)
  await untilPrinted(service, /database outage is over/)
  const logged = service
    .output()
    .split('\n')
    .filter((line) => line.includes('database outage'))
  assert.deepEqual(
    logged.map((line) => /"msg":"([^"]+)"/.exec(line)?.[1]),
    ['database outage', 'database outage is over'],
  )
})
