import assert from 'node:assert/strict'
import { readInstanceId } from '../../../../src/storage/repositories/operations/operations.repository.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { test } from '../../../support/databases/databases.ts'

test('200: /heartbeat reports that the process is running', async (t) => {
  const { app } = await startApp(t)
  const response = await app.inject('/heartbeat')
  assert.equal(response.statusCode, 200)
  assert.deepEqual(response.json(), { status: 'ok' })
})

test('200: the heartbeat names the database of the service, also while the database is down', async (t) => {
  const { app, db } = await startApp(t)
  const id = await readInstanceId(db)
  assert.equal((await app.inject('/heartbeat')).headers['latchkey-instance'], id)
  await db.close()
  assert.equal((await app.inject('/heartbeat')).headers['latchkey-instance'], id)
})

test('200: /ready reports that the service can serve requests', async (t) => {
  const { app } = await startApp(t)
  const response = await app.inject('/ready')
  assert.deepEqual({ status: response.statusCode, body: response.json() }, { status: 200, body: { status: 'ok' } })
})

test('503: during a database outage /ready fails and /heartbeat does not', async (t) => {
  const { app, db } = await startApp(t)
  await db.close()
  const response = await app.inject('/ready')
  assert.deepEqual({ status: response.statusCode, body: response.json() }, { status: 503, body: { detail: 'Service Unavailable' } })
  assert.equal(response.headers['retry-after'], '2')
  assert.equal((await app.inject('/heartbeat')).statusCode, 200)
})
