import assert from 'node:assert/strict'
import { loadConfig } from '../../src/config/load.ts'
import { examine } from '../../src/doctor/examine.ts'
import { statement } from '../../src/storage/database.ts'
import { migrate, openDatabase } from '../../src/storage/open.ts'
import { stopWebhooks } from '../../src/storage/repositories/webhooks/webhook.repository.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { type ContractContext, freshDatabase, test } from '../support/databases/databases.ts'
import { problems } from '../support/processes/doctor.ts'
import { enqueueWebhook, WEBHOOK_SECRET } from '../support/servers/webhook-receiver.ts'

const RETRIED = statement("update webhook_deliveries set attempts = 1, due_at = $2, last_error = 'answered 500' where id = $1")
const WAITING = statement('update webhook_deliveries set waits_for = $2 where id = $1')
const FAILED = statement("update webhook_deliveries set failed_at = 1, last_error = 'answered 500' where id = $1")

/** Settings with a receiver, its database, and a function that queues a webhook. */
async function withReceiver(t: ContractContext, url = 'https://hooks.example.com/in?token=canary') {
  const target = await freshDatabase(t, t.database)
  await migrate(target)
  const env = {
    SECRET_KEY: TEST_SECRET,
    PORT: '0',
    DATABASE_URL: target.setting,
    WEBHOOK_URL: url,
    WEBHOOK_SECRET,
  }
  const db = await openDatabase(target)
  t.after(() => db.close())
  const queue = (id: number, occurredAt: number) =>
    enqueueWebhook(db, { messageId: `msg_${id}`, type: 'user.banned', userId: id, keyId: undefined, sessionId: undefined, occurredAt })
  return { env, db, queue, endpoint: loadConfig(env).webhook?.endpoint ?? '' }
}

test('doctor reports webhooks that are late, retried or failed', async (t) => {
  const { env, db, queue } = await withReceiver(t)
  const fine = await examine(env)
  assert.deepEqual(
    fine.filter(({ check }) => check === 'webhooks'),
    [{ check: 'webhooks', verdict: 'ok', message: 'all delivered' }],
  )
  const now = Date.now()
  await queue(1, now - 60_000)
  assert.deepEqual(problems(await examine(env), 'webhooks'), [])
  await db.run(RETRIED, 1, now + 60_000)
  assert.deepEqual(problems(await examine(env), 'webhooks'), ['warning: 1 webhook not accepted yet, and retried'])
  await queue(2, now - 20 * 60_000)
  await queue(3, now)
  await db.run(FAILED, 3)
  const findings = await examine(env)
  assert.deepEqual(problems(findings, 'webhooks'), [
    'error: 2 webhooks pending, the oldest due for 20 minutes',
    'warning: 1 webhook could not be delivered',
  ])
  assert.ok(!JSON.stringify(findings).includes('canary'), 'the URL may contain a token')
})

test('doctor does not report a webhook that waits for an earlier one of its user as late', async (t) => {
  const { env, db, queue } = await withReceiver(t)
  const now = Date.now()
  for (const id of [1, 2]) await queue(id, now - 20 * 60_000)
  await db.run(RETRIED, 1, now + 60_000)
  assert.deepEqual(problems(await examine(env), 'webhooks'), ['error: 2 webhooks pending, the oldest due for 20 minutes'])
  await db.run(WAITING, 2, 1)
  assert.deepEqual(problems(await examine(env), 'webhooks'), ['warning: 1 webhook not accepted yet, and retried'])
})

test('doctor reports a receiver that answered 410, and only for its URL', async (t) => {
  const { env, db, queue, endpoint } = await withReceiver(t)
  await queue(1, Date.now())
  await stopWebhooks(db, endpoint, Date.UTC(2026, 0, 2))
  assert.deepEqual(problems(await examine(env), 'webhooks'), [
    'error: stopped since 2026-01-02T00:00:00.000Z, because the receiver answered 410; 1 webhook pending',
  ])
  assert.deepEqual(problems(await examine({ ...env, WEBHOOK_URL: 'https://other.example.com/' }), 'webhooks'), [])
})

test('doctor reports webhooks in clear text, and those that are left without WEBHOOK_URL', async (t) => {
  const { env, queue } = await withReceiver(t, 'http://hooks.example.com/')
  assert.deepEqual(problems(await examine(env), 'webhooks'), ['warning: WEBHOOK_URL is http: the ids in webhooks travel in clear text'])
  assert.deepEqual(problems(await examine({ ...env, WEBHOOK_URL: 'http://127.0.0.1:3000/' }), 'webhooks'), [])
  const unset = { ...env, WEBHOOK_URL: '', WEBHOOK_SECRET: '' }
  assert.deepEqual(
    (await examine(unset)).filter(({ check }) => check === 'webhooks'),
    [],
  )
  await queue(1, Date.now())
  assert.deepEqual(problems(await examine(unset), 'webhooks'), ['warning: 1 webhook in the outbox, and WEBHOOK_URL is not set'])
})
