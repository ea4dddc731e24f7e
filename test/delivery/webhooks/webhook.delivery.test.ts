import assert from 'node:assert/strict'
import { test as nodeTest } from 'node:test'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import { webhookDelayMs } from '../../../src/delivery/webhooks/webhook.delivery.ts'
import { insertWebhook } from '../../../src/storage/repositories/webhooks/webhook.repository.ts'
import { member } from '../../support/app/actors.ts'
import { startApp } from '../../support/app/start-app.ts'
import { test } from '../../support/databases/databases.ts'
import { OPERATOR } from '../../support/http/origins.ts'
import {
  answering,
  openWebhooks,
  type ReceivedWebhook,
  startReceiver,
  startWebhookApp,
  WEBHOOK_SECRET,
  type WebhookApp,
  webhookRows,
} from '../../support/servers/webhook-receiver.ts'

const SECOND_SECRET = 'whsec_Qm9vT3JkZXJzQXJlTm90VGhlT25lc1lvdVdhbnQ='

/** The headers as the verifying package takes them. */
function headersOf({ headers }: ReceivedWebhook): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

/** Asserts that the independent package signs the webhook in the same way, whatever the clock of the test says. */
function assertSigned(webhook: ReceivedWebhook, secret = WEBHOOK_SECRET): void {
  const headers = headersOf(webhook)
  const at = new Date(Number(headers['webhook-timestamp']) * 1000)
  const signature = new Webhook(secret).sign(headers['webhook-id'] ?? '', at, webhook.text)
  assert.ok(headers['webhook-signature']?.split(' ').includes(signature), 'the signature is wrong')
}

/** A service with one pending webhook, about the registration of a user. */
async function withOneWebhook(t: Parameters<typeof startWebhookApp>[0], options: Parameters<typeof startWebhookApp>[1] = {}) {
  const app = await startWebhookApp(t, { ...options, env: { WEBHOOK_EVENTS: 'user.registered', ...options.env } })
  const mia = await member(app)
  return { app, mia }
}

async function advanceToNextTry(app: WebhookApp): Promise<void> {
  const [row] = await webhookRows(app)
  app.clock.advance({ ms: (row?.due_at ?? 0) - app.clock.now() })
  await app.webhooks.drain()
}

test('a webhook is verified by the package of Standard Webhooks, and contains ids only', async (t) => {
  const app = await startWebhookApp(t)
  const mia = await member(app)
  await app.services.userAdministration.ban(OPERATOR, mia.id)
  await app.webhooks.drain()
  const [registered, banned] = app.receiver.received
  assert.ok(registered && banned && app.receiver.received.length === 2)
  const timestamp = new Date(app.clock.now()).toISOString()
  assert.deepEqual(new Webhook(WEBHOOK_SECRET).verify(banned.text, headersOf(banned)), {
    type: 'user.banned',
    timestamp,
    data: { user_id: mia.id },
  })
  assert.deepEqual(registered.body, { type: 'user.registered', timestamp, data: { user_id: mia.id } })
  assert.equal(banned.headers['content-type'], 'application/json')
  assert.match(String(banned.headers['user-agent']), /^Latchkey\/\d/)
  assert.notEqual(registered.headers['webhook-id'], banned.headers['webhook-id'])
  assert.throws(() => new Webhook(WEBHOOK_SECRET).verify(`${banned.text} `, headersOf(banned)), WebhookVerificationError)
  assert.throws(() => new Webhook(SECOND_SECRET).verify(banned.text, headersOf(banned)), WebhookVerificationError)
  assert.deepEqual(await webhookRows(app), [], 'a delivered webhook is deleted')
  assert.deepEqual(app.attempts, ['delivered', 'delivered'])
})

test('while a secret is replaced, every webhook is signed with both', async (t) => {
  const { app } = await withOneWebhook(t, { env: { WEBHOOK_SECRET: `${SECOND_SECRET} ${WEBHOOK_SECRET}` } })
  await app.webhooks.drain()
  const [webhook] = app.receiver.received
  assert.ok(webhook)
  assert.match(String(webhook.headers['webhook-signature']), /^v1,[\w+/]{43}= v1,[\w+/]{43}=$/)
  for (const secret of [WEBHOOK_SECRET, SECOND_SECRET]) new Webhook(secret).verify(webhook.text, headersOf(webhook))
})

test('a webhook that is not accepted is retried with the same id and body and a new timestamp, for three days, and is then kept as failed', async (t) => {
  const { app } = await withOneWebhook(t)
  app.receiver.answer = answering(500)
  const startedAt = app.clock.now()
  const triedAt: number[] = []
  await app.webhooks.drain()
  for (let tries = 1; (await webhookRows(app))[0]?.failed_at === null; tries++) {
    assert.ok(tries < 30, 'it is never given up')
    triedAt.push(app.clock.now() - startedAt)
    await advanceToNextTry(app)
  }
  triedAt.push(app.clock.now() - startedAt)
  const [row] = await webhookRows(app)
  assert.deepEqual(
    { attempts: row?.attempts, error: row?.last_error, lease: row?.lease },
    { attempts: triedAt.length, error: 'answered 500', lease: null },
  )
  const hours = triedAt.map((ms) => Math.round((ms / 3_600_000) * 100) / 100)
  assert.deepEqual(hours, [0, 0, 0.01, 0.04, 0.21, 0.71, 2.71, 7.71, 17.71, 27.71, 37.71, 47.71, 57.71, 67.71, 72])
  assert.deepEqual(app.attempts, [...Array.from({ length: 14 }, () => 'retried'), 'failed'])

  const { received } = app.receiver
  assert.equal(received.length, triedAt.length)
  assert.equal(new Set(received.map(({ headers, text }) => `${headers['webhook-id']} ${text}`)).size, 1)
  assert.deepEqual(
    received.map(({ headers }) => Number(headers['webhook-timestamp'])),
    triedAt.map((ms) => Math.floor((startedAt + ms) / 1000)),
  )
  for (const webhook of received) assertSigned(webhook)
  const messages = app.webhookLog.map((line) => JSON.parse(line).msg)
  assert.deepEqual(messages, ['a webhook was not accepted and is retried', 'a webhook could not be delivered and is given up'])

  app.clock.advance({ days: 29 })
  await app.webhooks.drain()
  assert.equal((await webhookRows(app)).length, 1)
  app.clock.advance({ days: 1 })
  await app.webhooks.drain()
  assert.deepEqual(await webhookRows(app), [], 'failed webhooks are kept for 30 days')
})

nodeTest('delays grow to ten hours, and webhooks that failed together are spread', () => {
  const none = () => 0
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 50].map((attempts) => webhookDelayMs(attempts, none) / 1000),
    [5, 30, 120, 600, 1800, 7200, 18_000, 36_000, 36_000, 36_000],
  )
  assert.equal(
    webhookDelayMs(7, () => 1),
    27_000_000,
  )
})

test('only an answer between 200 and 299 is a success: a redirect is retried', async (t) => {
  const { app } = await withOneWebhook(t)
  for (const status of [301, 302, 307, 308, 404, 500]) {
    app.receiver.answer = answering(status)
    await advanceToNextTry(app)
    assert.equal((await webhookRows(app)).length, 1, `after ${status}`)
  }
  app.receiver.answer = answering(204)
  await advanceToNextTry(app)
  assert.deepEqual(await webhookRows(app), [])
})

test('the beginning and the end of an outage of the receiver are logged once each', async (t) => {
  const app = await startWebhookApp(t)
  app.receiver.answer = answering(503)
  for (let count = 0; count < 3; count++) await member(app)
  await app.webhooks.drain()
  app.receiver.answer = answering(200)
  app.clock.advance({ seconds: 5 })
  await app.webhooks.drain()
  assert.deepEqual(
    app.webhookLog.map((line) => JSON.parse(line).msg),
    ['a webhook was not accepted and is retried', 'webhooks are delivered again'],
  )
  assert.deepEqual(await webhookRows(app), [])
})

test('a receiver that is away for two days gets everything that happened meanwhile, in order for each user', async (t) => {
  const app = await startWebhookApp(t, { env: { WEBHOOK_EVENTS: 'user.registered,user.banned,user.unbanned' } })
  const { ban, unban } = app.services.userAdministration
  app.receiver.answer = answering(503)
  const [mia, ada] = [await member(app), await member(app)]
  for (let hours = 0; hours < 48; hours += 6) {
    if (hours % 12 === 0) await ban(OPERATOR, mia.id)
    else await unban(OPERATOR, mia.id)
    await app.webhooks.drain()
    app.clock.advance({ hours: 6 })
  }
  await app.webhooks.drain()
  const waiting = (await webhookRows(app)).map(({ message_id: id }) => id)
  assert.deepEqual([waiting.length, (await webhookRows(app)).filter(({ failed_at: at }) => at !== null).length], [10, 0])
  app.receiver.received.length = 0
  app.receiver.answer = answering(204)
  // The longest pause between two attempts.
  app.clock.advance({ hours: 10 })
  await app.webhooks.drain()
  assert.deepEqual(await webhookRows(app), [])
  const { received } = app.receiver
  assert.deepEqual(received.map(({ headers }) => String(headers['webhook-id'])).sort(), waiting.sort())
  const typesOf = (userId: number) => received.filter(({ body }) => body.data['user_id'] === userId).map(({ body }) => body.type)
  assert.deepEqual(typesOf(ada.id), ['user.registered'])
  assert.deepEqual(typesOf(mia.id), ['user.registered', ...Array.from({ length: 4 }, () => ['user.banned', 'user.unbanned']).flat()])
})

test('410 stops all deliveries, in every process and after a restart, until a retry resumes them', async (t) => {
  const app = await startWebhookApp(t)
  const mia = await member(app)
  app.receiver.answer = answering(410)
  await app.webhooks.drain()
  assert.equal(app.receiver.received.length, 1)
  assert.match(JSON.parse(app.webhookLog[0] ?? '{}').msg, /^the webhook receiver answered 410: deliveries are stopped/)
  const { stoppedAt, pending } = await app.services.webhooks.state()
  assert.deepEqual({ stoppedAt, pending }, { stoppedAt: app.clock.now(), pending: 1 })

  app.receiver.answer = answering(204)
  await app.services.userAdministration.ban(OPERATOR, mia.id)
  app.clock.advance({ hours: 12 })
  const second = openWebhooks(t, app)
  await app.webhooks.drain()
  await second.webhooks.drain()
  assert.equal(app.receiver.received.length, 1, 'nothing is sent to a receiver that is gone')
  assert.equal((await webhookRows(app)).length, 2, 'events are queued meanwhile')

  assert.equal(await app.services.webhooks.resume(OPERATOR), true)
  assert.equal(await app.services.webhooks.resume(OPERATOR), false)
  await second.webhooks.drain()
  assert.deepEqual(
    app.receiver.received.slice(1).map(({ body }) => body.type),
    ['user.registered', 'user.banned'],
  )
  assert.deepEqual(await webhookRows(app), [])
})

test('410 stops deliveries to that URL only: another WEBHOOK_URL gets everything', async (t) => {
  const { app } = await withOneWebhook(t)
  app.receiver.answer = answering(410)
  await app.webhooks.drain()
  const other = await startReceiver(t)
  assert.ok(app.config.webhook)
  const webhook = { ...app.config.webhook, url: other.url, endpoint: 'other' }
  const { webhooks } = openWebhooks(t, { ...app, config: { ...app.config, webhook } })
  await webhooks.drain()
  assert.deepEqual([app.receiver.received.length, other.received.length], [1, 1])
  assert.deepEqual(await webhookRows(app), [])
})

test('webhooks that wait for a stopped receiver are kept as failed after three days, and a retry of one sends it', async (t) => {
  const { app } = await withOneWebhook(t)
  app.receiver.answer = answering(410)
  await app.webhooks.drain()
  await member(app)
  app.clock.advance({ days: 3 })
  await app.webhooks.drain()
  const rows = await webhookRows(app)
  assert.deepEqual(
    rows.map(({ failed_at, last_error }) => ({ failed_at, last_error })),
    Array.from({ length: 2 }, () => ({ failed_at: app.clock.now(), last_error: 'answered 410: deliveries are stopped' })),
  )
  app.receiver.answer = answering(204)
  assert.equal(await app.services.webhooks.retry(OPERATOR, rows[1]?.id ?? 0), true)
  await app.webhooks.drain()
  assert.equal(app.receiver.received.length, 2)
  assert.deepEqual(
    (await webhookRows(app)).map(({ id }) => id),
    [rows[0]?.id],
  )
})

test('events of one user arrive in the order of creation, those of others at the same time', async (t) => {
  const app = await startWebhookApp(t, { dispatcher: { concurrency: 4 } })
  const [mia, zoe] = [await member(app), await member(app)]
  for (let round = 0; round < 5; round++) {
    for (const { id } of [mia, zoe]) await app.services.userAdministration.ban(OPERATOR, id)
    for (const { id } of [mia, zoe]) await app.services.userAdministration.unban(OPERATOR, id)
  }
  let open = 0
  let most = 0
  app.receiver.answer = (response, { body }) => {
    most = Math.max(most, ++open)
    // Answered in a later turn, and the earlier events later than the others: only the order of sending can put them in order.
    setTimeout(
      () => {
        open--
        response.writeHead(204).end()
      },
      body.type === 'user.banned' ? 15 : 1,
    )
  }
  await app.webhooks.drain()
  const expected = ['user.registered', ...Array.from({ length: 5 }, () => ['user.banned', 'user.unbanned']).flat()]
  for (const { id } of [mia, zoe]) {
    const types = app.receiver.received.filter(({ body }) => body.data['user_id'] === id).map(({ body }) => body.type)
    assert.deepEqual(types, expected)
  }
  assert.equal(most, 2, 'one at a time for each user')
})

test('a later event waits while an earlier one of its user is retried after seconds, and overtakes it when the pauses are long', async (t) => {
  const app = await startWebhookApp(t)
  const mia = await member(app)
  app.receiver.answer = (response, { body }) => void response.writeHead(body.type === 'user.registered' ? 500 : 204).end()
  await app.services.userAdministration.ban(OPERATOR, mia.id)
  const zoe = await member(app)
  const seen = () => app.receiver.received.map(({ body }) => `${body.type} ${body.data['user_id']}`)
  await app.webhooks.drain()
  assert.deepEqual(seen(), [`user.registered ${mia.id}`, `user.registered ${zoe.id}`])
  for (let attempt = 2; attempt <= 3; attempt++) await advanceToNextTry(app)
  assert.ok(!seen().includes(`user.banned ${mia.id}`), 'overtaken too early')
  await advanceToNextTry(app)
  assert.deepEqual(seen().at(-1), `user.banned ${mia.id}`)
  const [first] = await webhookRows(app)
  assert.deepEqual({ type: first?.type, attempts: first?.attempts }, { type: 'user.registered', attempts: 4 })
})

test('thousands of webhooks of one user, whose first is retried, leave room for those of others', async (t) => {
  const { app, mia } = await withOneWebhook(t)
  await app.db.transaction(async (tx) => {
    for (let count = 0; count < 1001; count++) {
      const event = {
        messageId: `msg_${count}`,
        type: 'user.edited',
        userId: mia.id,
        occurredAt: app.clock.now(),
        keyId: undefined,
        sessionId: undefined,
      } as const
      const { statement, values } = insertWebhook(event)
      await tx.run(statement, ...values)
    }
  })
  app.receiver.answer = (response, { body }) => void response.writeHead(body.data['user_id'] === mia.id ? 500 : 204).end()
  await app.webhooks.drain()
  app.clock.advance({ seconds: 1 })
  const zoe = await member(app)
  await app.webhooks.drain()
  assert.equal(app.receiver.received.at(-1)?.body.data['user_id'], zoe.id)
})

test('WEBHOOK_EVENTS narrows the events that are queued', async (t) => {
  const app = await startWebhookApp(t, { env: { WEBHOOK_EVENTS: 'user.banned, key.created' } })
  const mia = await member(app)
  await app.services.userAdministration.ban(OPERATOR, mia.id)
  await app.services.userAdministration.unban(OPERATOR, mia.id)
  const key = await app.services.apiKeys.create(OPERATOR, mia.id, { name: 'ci', scopes: [] })
  await app.webhooks.drain()
  assert.deepEqual(
    app.receiver.received.map(({ body: { type, data } }) => ({ type, data })),
    [
      { type: 'user.banned', data: { user_id: mia.id } },
      { type: 'key.created', data: { user_id: mia.id, key_id: key.id } },
    ],
  )
})

test('without WEBHOOK_URL nothing is queued', async (t) => {
  const app = await startApp(t)
  await member(app)
  assert.deepEqual(await webhookRows(app), [])
})
