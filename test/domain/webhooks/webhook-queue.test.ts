import assert from 'node:assert/strict'
import { test as nodeTest } from 'node:test'
import { createChanges } from '../../../src/domain/changes/changes.ts'
import { createFollowUps } from '../../../src/domain/changes/follow-ups.ts'
import { isWebhookType, WEBHOOK_TYPES } from '../../../src/model/webhook.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { statement } from '../../../src/storage/database.ts'
import { admin, keyHolder, member } from '../../support/app/actors.ts'
import { storedEvents } from '../../support/app/audit.ts'
import { test } from '../../support/databases/databases.ts'
import { ORIGIN } from '../../support/http/origins.ts'
import { post } from '../../support/http/requests.ts'
import { startWebhookApp, webhookRows } from '../../support/servers/webhook-receiver.ts'

const UNRELATED = statement('update users set first_name = first_name where id = $1')

nodeTest('webhooks report events of users, keys, sessions, second factors and providers, and no others', () => {
  // docs/webhooks.md lists each of them, and a test compares.
  assert.ok(WEBHOOK_TYPES.length > 20)
  for (const type of WEBHOOK_TYPES) assert.match(type, /^(user|key|session|factor|passkey|provider)\.[a-z_]+$/)
  for (const kind of ['user.imported', 'login.failed', 'secret.rotated', 'data.exported', 'mail.requested', 'webhook.test'])
    assert.equal(isWebhookType(kind), false, kind)
})

test('a change that is rolled back queues no webhook, and one event of several is queued once', async (t) => {
  const { db, clock, config } = await startWebhookApp(t)
  const followUps = () => createFollowUps({ secrets: secretsOf(config), webhooks: config.webhook })
  const changes = createChanges({ db, now: clock.now, followUps, onEvent: () => undefined })
  const banned = (fails: boolean) =>
    changes.withoutCaller(ORIGIN, async (tx) => {
      tx.record({ kind: 'user.banned', target: 7 })
      tx.record({ kind: 'secret.rotated' })
      tx.record({ kind: 'mail.requested' })
      await tx.run(UNRELATED, 7)
      if (fails) throw new Error('rolled back')
    })
  await assert.rejects(banned(true), /rolled back/)
  assert.equal((await webhookRows({ db })).length, 0)
  await banned(false)
  assert.deepEqual(
    (await webhookRows({ db })).map(({ type, user_id }) => ({ type, user_id })),
    [{ type: 'user.banned', user_id: 7 }],
  )
})

test('a login, a logout, a key and a deletion over HTTP are reported with their ids', async (t) => {
  const service = await startWebhookApp(t)
  const { app, receiver, webhooks } = service
  const [ada, mia] = [await admin(service), await member(service)]
  await webhooks.drain()
  receiver.received.length = 0
  const login = await app.inject(post('/login/', { email: mia.email, password: mia.password }))
  const headers = { authorization: `Bearer ${login.json().token}` }
  const key = await app.inject({ ...post('/users/keys', { name: 'ci' }), headers: { ...headers, 'content-type': 'application/json' } })
  assert.equal(key.statusCode, 200, key.body)
  assert.equal((await app.inject({ method: 'POST', url: '/logout/', headers })).statusCode, 204)
  await app.inject(post('/login/', { email: mia.email, password: 'a wrong password' }))
  assert.equal((await app.inject({ method: 'DELETE', url: `/users/${mia.id}`, headers: ada.headers })).statusCode, 204)
  await webhooks.drain()
  const [created, made, revoked, deleted] = receiver.received.map(({ body: { type, data } }) => ({ type, data }))
  const sessionId = created?.data['session_id']
  assert.equal(typeof sessionId, 'string')
  assert.deepEqual(
    [created, made, revoked, deleted],
    [
      { type: 'session.created', data: { user_id: mia.id, session_id: sessionId } },
      { type: 'key.created', data: { user_id: mia.id, key_id: key.json().id } },
      { type: 'session.revoked', data: { user_id: mia.id, session_id: sessionId } },
      { type: 'user.deleted', data: { user_id: mia.id } },
    ],
  )
  assert.equal(receiver.received.length, 4)
})

test('a changed plan is reported once, and the same plan again is not', async (t) => {
  const service = await startWebhookApp(t, { env: { PLANS: 'free=60/m pro=600/m' } })
  const { app, receiver, webhooks, db } = service
  const [ada, mia] = [await admin(service), await member(service)]
  await webhooks.drain()
  receiver.received.length = 0
  const put = (plan: string) => app.inject({ method: 'PUT', url: `/users/${mia.id}/plan`, headers: ada.headers, payload: { plan } })
  const statuses = [await put('pro'), await put('pro'), await put('gold')].map(({ statusCode }) => statusCode)
  assert.deepEqual(statuses, [200, 200, 422])
  await webhooks.drain()
  assert.deepEqual(
    receiver.received.map(({ body: { type, data } }) => ({ type, data })),
    [{ type: 'user.plan_changed', data: { user_id: mia.id } }],
  )
  const stored = (await storedEvents(db)).filter(({ kind }) => kind === 'user.plan_changed')
  assert.deepEqual(
    stored.map(({ actor, target, via, detail }) => [actor, target, via, JSON.parse(String(detail))]),
    [[ada.id, mia.id, 'http', { changed: ['plan'] }]],
  )
})

test('no webhook and no row contains a secret, a name or an address', async (t) => {
  const service = await startWebhookApp(t)
  const mia = await member(service, { email: 'canary@example.com', firstName: 'Canaryname' })
  const { key } = await keyHolder(service, mia, { name: 'canarykey' })
  const leaked = [{ token: key, type: 'key', url: 'https://example.com/canaryurl', source: 'content' }]
  assert.equal((await service.app.inject(post('/auth/leaked', leaked))).statusCode, 200)
  const rows = JSON.stringify(await webhookRows(service))
  await service.webhooks.drain()
  const sent = JSON.stringify(service.receiver.received)
  assert.ok(sent.includes('key.leaked'))
  for (const text of [rows, sent, service.webhookLog.join('')]) {
    assert.doesNotMatch(text, /canary/i)
    assert.ok(!text.includes(key) && !text.includes('kL7aPz0nT2wVbXq5Jc8dRfYgHs3uMe1o'))
  }
})
