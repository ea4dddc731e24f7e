import assert from 'node:assert/strict'
import { LEASE_MS } from '../../../src/delivery/dispatcher.ts'
import { statement } from '../../../src/storage/database.ts'
import { member } from '../../support/app/actors.ts'
import { test } from '../../support/databases/databases.ts'
import { leaveWebhooks } from '../../support/servers/webhook-backlog.ts'
import {
  answering,
  openWebhooks,
  startWebhookApp,
  untilReceived,
  type WebhookApp,
  webhookRows,
} from '../../support/servers/webhook-receiver.ts'

const USERS = 4
// As release 0.9 does, which knows nothing about webhooks that wait for each other.
const GIVE_UP = statement('update webhook_deliveries set lease = null, failed_at = $2 where message_id = $1')
const POSTPONE = statement('update webhook_deliveries set lease = null, attempts = 4, due_at = $2 where message_id = $1')

/** The messages that the receiver has got about a user, in this order. */
function receivedOf({ receiver }: WebhookApp, userId: number): string[] {
  return receiver.received.filter(({ body }) => body.data['user_id'] === userId).map(({ headers }) => String(headers['webhook-id']))
}

/** The messages about a user among so many whose users take turns. */
function messagesOf(userId: number, count: number): string[] {
  return Array.from({ length: count / USERS }, (_, index) => `msg_${index * USERS + userId + 1}`)
}

test('1,400 webhooks whose first ones were leased last by a process that was killed are all delivered when the leases end', async (t) => {
  const app = await startWebhookApp(t)
  const now = app.clock.now()
  const left = Array.from({ length: 1400 }, (_, index) => {
    const userId = index % USERS
    return index < USERS ? { userId, dueAt: now + LEASE_MS, isLeased: true } : { userId, dueAt: now - 1400 + index }
  })
  await leaveWebhooks(app.db, left)
  await app.webhooks.drain()
  assert.equal(app.receiver.received.length, 0, 'the others wait for the leased ones')
  app.clock.advance({ ms: LEASE_MS })
  await app.webhooks.drain()
  assert.equal((await webhookRows(app)).length, 0, 'webhooks that still wait')
  for (let userId = 0; userId < USERS; userId++) assert.deepEqual(receivedOf(app, userId), messagesOf(userId, 1400))
})

test('thousands of webhooks of one user, whose first is being sent, leave room for those of others', async (t) => {
  const app = await startWebhookApp(t, { env: { WEBHOOK_EVENTS: 'user.registered' }, dispatcher: { deadlineMs: 600_000 } })
  await leaveWebhooks(
    app.db,
    Array.from({ length: 2500 }, () => ({ userId: 99, dueAt: app.clock.now() })),
  )
  app.receiver.answer = (response, { body }) => void (body.data['user_id'] === 99 || response.writeHead(204).end())
  app.clock.advance({ seconds: 1 })
  const zoe = await member(app)
  void app.webhooks.drain()
  await untilReceived(app.receiver, 2)
  assert.deepEqual(app.receiver.received.map(({ body }) => body.data['user_id']).sort(), [zoe.id, 99].sort())
})

test('three processes deliver a backlog together, in order for each user, to a receiver that fails now and then', async (t) => {
  const app = await startWebhookApp(t)
  const others = [openWebhooks(t, app), openWebhooks(t, app)]
  const now = app.clock.now()
  await leaveWebhooks(
    app.db,
    Array.from({ length: 800 }, (_, index) => ({ userId: index % USERS, dueAt: now - index })),
  )
  const accepted: string[] = []
  let requests = 0
  app.receiver.answer = (response, { headers }) => {
    requests++
    if (requests % 21 === 0) return void response.socket?.destroy()
    if (requests % 7 !== 0) accepted.push(String(headers['webhook-id']))
    response.writeHead(requests % 7 === 0 ? 503 : 204).end()
  }
  for (let rounds = 0; (await webhookRows(app)).length > 0; rounds++) {
    assert.ok(rounds < 200, 'webhooks that still wait')
    await Promise.all([app.webhooks, ...others.map(({ webhooks }) => webhooks)].map((webhooks) => webhooks.drain()))
    app.clock.advance({ seconds: 30 })
  }
  for (let userId = 0; userId < USERS; userId++) {
    const messages = messagesOf(userId, 800)
    assert.deepEqual(
      accepted.filter((message) => messages.includes(message)),
      messages,
    )
  }
})

test('webhooks that fail or may be overtaken let those that wait for them pass at once', async (t) => {
  const app = await startWebhookApp(t)
  const now = app.clock.now()
  const old = now - 3 * 24 * 3_600_000
  await leaveWebhooks(app.db, [
    { userId: 1, dueAt: now, attempts: 3, requestedAt: old },
    { userId: 1, dueAt: now },
    { userId: 2, dueAt: now, attempts: 3 },
    { userId: 2, dueAt: now },
  ])
  app.receiver.answer = (response, { headers }) =>
    void response.writeHead(['msg_1', 'msg_3'].includes(String(headers['webhook-id'])) ? 500 : 204).end()
  await app.webhooks.drain()
  assert.deepEqual(
    (await webhookRows(app)).map(({ message_id: message, attempts, failed_at: failedAt }) => ({
      message,
      attempts,
      hasFailed: failedAt !== null,
    })),
    [
      { message: 'msg_1', attempts: 4, hasFailed: true },
      { message: 'msg_3', attempts: 4, hasFailed: false },
    ],
  )
  assert.deepEqual([...receivedOf(app, 1), ...receivedOf(app, 2)], ['msg_1', 'msg_2', 'msg_3', 'msg_4'])
})

test('webhooks that wait for one that release 0.9 has given up or postponed are delivered within ten minutes', async (t) => {
  const app = await startWebhookApp(t)
  const now = app.clock.now()
  await leaveWebhooks(app.db, [
    { userId: 1, dueAt: now },
    { userId: 1, dueAt: now },
    { userId: 2, dueAt: now },
    { userId: 2, dueAt: now },
  ])
  app.receiver.answer = answering(500)
  await app.webhooks.drain()
  app.receiver.answer = answering(204)
  await app.db.run(GIVE_UP, 'msg_1', now)
  await app.db.run(POSTPONE, 'msg_3', now + 36_000_000)
  app.clock.advance({ minutes: 10 })
  await app.webhooks.drain()
  assert.deepEqual(
    (await webhookRows(app)).map(({ message_id: message }) => message),
    ['msg_1', 'msg_3'],
  )
})
