import assert from 'node:assert/strict'
import type { WebhookEvent } from '../../../src/model/webhook.ts'
import { statement } from '../../../src/storage/database.ts'
import {
  claimWebhooks,
  findWebhook,
  giveUpWebhook,
  measureWebhooks,
  postponeWebhook,
  stopWebhooks,
} from '../../../src/storage/repositories/webhooks/webhook.repository.ts'
import { temporaryFolder, test } from '../../support/databases/databases.ts'
import { type CommandLine, commandLine, done, json, refusedWith } from '../../support/processes/command-line.ts'
import { LATCHKEY, runNode } from '../../support/processes/processes.ts'
import { makeCertificate } from '../../support/servers/certificates.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { answering, enqueueWebhook, startReceiver, WEBHOOK_SECRET } from '../../support/servers/webhook-receiver.ts'

const OCCURRED_AT = Date.UTC(2026, 0, 2, 3, 4, 5)
const OCCURRED = '2026-01-02T03:04:05.000Z'
const KEY_ID = '00000000-0000-4000-8000-000000000001'
const TOUCH = statement('update webhook_deliveries set lease = $2, due_at = $3 where id = $1')

function event(n: number, type: WebhookEvent['type'], ids: Partial<WebhookEvent> = {}): WebhookEvent {
  return { messageId: `msg_${n}`, type, userId: n, keyId: undefined, sessionId: undefined, occurredAt: OCCURRED_AT, ...ids }
}

/** Webhook 1 is pending, webhook 2 was tried once, webhook 3 failed for good, webhook 4 is being sent. */
async function fourWebhooks({ database }: CommandLine) {
  const db = await database()
  await enqueueWebhook(db, event(1, 'user.banned'))
  await enqueueWebhook(db, event(2, 'key.created', { keyId: KEY_ID }))
  await enqueueWebhook(db, event(3, 'session.created', { sessionId: 'session-3' }))
  await enqueueWebhook(db, event(4, 'user.deleted'))
  const claim = { lease: 'lease', leaseEndsAt: OCCURRED_AT + 60_000, now: OCCURRED_AT, limit: 4, takesOver: true }
  const claimed = await claimWebhooks(db, 'endpoint', claim)
  const [first, second, third, fourth] = claimed.sort((one, other) => one.id - other.id)
  assert.ok(first && second && third && fourth)
  await db.run(TOUCH, first.id, null, OCCURRED_AT)
  await postponeWebhook(db, second, OCCURRED_AT + 5000, 'answered 500')
  await giveUpWebhook(db, third, OCCURRED_AT + 9000, 'no answer: ECONNREFUSED')
  await db.run(TOUCH, fourth.id, 'lease', Date.now() + 3_600_000)
  return db
}

test('webhook list shows pending and failed webhooks with the reason', async (t) => {
  const line = await commandLine(t)
  done(await line.run(['webhook', 'list']), 'ID  TYPE  USER  STATE  ATTEMPTS  OCCURRED  LAST ERROR\n')
  await fourWebhooks(line)
  done(
    await line.run(['webhook', 'list']),
    [
      'ID  TYPE             USER  STATE     ATTEMPTS  OCCURRED                  LAST ERROR',
      `1   user.banned      1     waiting   0         ${OCCURRED}`,
      `2   key.created      2     retrying  1         ${OCCURRED}  answered 500`,
      `3   session.created  3     failed    1         ${OCCURRED}  no answer: ECONNREFUSED`,
      `4   user.deleted     4     sending   0         ${OCCURRED}`,
      '',
    ].join('\n'),
  )
  assert.deepEqual(json(await line.run(['webhook', 'list', '--failed', '--json'])), [
    {
      id: 3,
      webhook_id: 'msg_3',
      type: 'session.created',
      user_id: 3,
      key_id: null,
      session_id: 'session-3',
      state: 'failed',
      attempts: 1,
      occurred_at: OCCURRED,
      due_at: null,
      failed_at: '2026-01-02T03:04:14.000Z',
      last_error: 'no answer: ECONNREFUSED',
    },
  ])
})

test('webhook show prints everything about one webhook', async (t) => {
  const line = await commandLine(t)
  await fourWebhooks(line)
  done(
    await line.run(['webhook', 'show', '2']),
    [
      'Webhook     2, key.created',
      'webhook-id  msg_2',
      'User        2',
      `Key         ${KEY_ID}`,
      'State       retrying',
      `Occurred    ${OCCURRED}`,
      'Attempts    1',
      'Next try    2026-01-02T03:04:10.000Z',
      'Last error  answered 500',
      '',
    ].join('\n'),
  )
  refusedWith(
    await line.run(['webhook', 'show', '5']),
    1,
    'there is no such webhook in the outbox; it may have been delivered or discarded',
  )
  refusedWith(await line.run(['webhook', 'show', 'msg_2']), 1, 'ID: should be the id of a webhook, as `webhook list` shows it')
})

test('webhook retry makes webhooks due now and ends a stop, but sends none twice; a dry run changes nothing', async (t) => {
  const line = await commandLine(t)
  const db = await fourWebhooks(line)
  await stopWebhooks(db, 'endpoint', OCCURRED_AT)
  done(await line.run(['webhook', 'retry', '3', '--dry-run']), 'would make webhook 3 (session.created, user 3) due now\n')
  assert.deepEqual(
    [(await findWebhook(db, 3))?.lastError, (await measureWebhooks(db, 'endpoint')).stoppedAt],
    ['no answer: ECONNREFUSED', OCCURRED_AT],
  )
  const before = Date.now()
  done(await line.run(['webhook', 'retry', '3']), 'made webhook 3 (session.created, user 3) due now\n')
  const retried = await findWebhook(db, 3)
  assert.ok(retried && retried.dueAt >= before && retried.attempts === 0 && retried.failedAt === undefined)
  assert.equal(retried.messageId, 'msg_3', 'the receiver recognises it')
  assert.equal((await measureWebhooks(db, 'endpoint')).stoppedAt, undefined)
  refusedWith(await line.run(['webhook', 'retry', '4']), 1, 'this webhook is being sent right now; try again in a minute')
})

test('webhook retry without ids ends a stop', async (t) => {
  const line = await commandLine(t)
  const db = await line.database()
  done(await line.run(['webhook', 'retry']), 'deliveries are not stopped; name the ids of webhooks to send them again\n')
  await stopWebhooks(db, 'endpoint', OCCURRED_AT)
  done(await line.run(['webhook', 'retry', '--dry-run']), 'would resume deliveries\n')
  assert.equal((await measureWebhooks(db, 'endpoint')).stoppedAt, OCCURRED_AT)
  assert.deepEqual(json(await line.run(['webhook', 'retry', '--json'])), { resumed: true })
  assert.equal((await measureWebhooks(db, 'endpoint')).stoppedAt, undefined)
})

test('webhook discard deletes webhooks without sending them', async (t) => {
  const line = await commandLine(t)
  const db = await fourWebhooks(line)
  const { code, stdout, stderr } = await line.run(['webhook', 'discard', '-', '--json'], '3\n4\n1\n')
  assert.equal(code, 1)
  assert.deepEqual(
    JSON.parse(stdout).map(({ id }: { id: number }) => id),
    [3, 1],
  )
  assert.equal(stderr, 'latchkey: 4: this webhook is being sent right now; try again in a minute\nlatchkey: 1 of 3 failed\n')
  assert.deepEqual(await Promise.all([1, 2, 3, 4].map(async (id) => (await findWebhook(db, id)) !== undefined)), [false, true, false, true])
})

test('webhook test sends a signed event past the outbox and reports the answer', async (t) => {
  const line = await commandLine(t)
  const receiver = await startReceiver(t)
  const settings = { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET }
  const sent = await line.run(['webhook', 'test'], '', settings)
  assert.match(sent.stdout, /^the receiver accepted the test event msg_[\w-]{36} with 204, after \d+ ms\n$/)
  const [{ body } = assert.fail('nothing arrived')] = receiver.received
  assert.deepEqual({ ...body, timestamp: '' }, { type: 'webhook.test', timestamp: '', data: {} })
  receiver.answer = answering(302, { location: receiver.url })
  refusedWith(await line.run(['webhook', 'test'], '', settings), 1, 'the receiver did not accept the test event: answered 302')
  const refused = await line.run(['webhook', 'test', '--json'], '', settings)
  const { webhook_id, ...answer } = JSON.parse(refused.stdout)
  assert.deepEqual({ code: refused.code, answer }, { code: 1, answer: { accepted: false, status: 302 } })
  assert.match(webhook_id, /^msg_/)
  const down = { ...settings, WEBHOOK_URL: `http://127.0.0.1:${await freePort()}/` }
  refusedWith(await line.run(['webhook', 'test'], '', down), 1, 'the receiver did not accept the test event: no answer: ECONNREFUSED')
  refusedWith(await line.run(['webhook', 'test']), 1, 'WEBHOOK_URL: is not set')
})

test('webhook test checks the certificate of an https receiver', async (t) => {
  const certificate = makeCertificate(t)
  if (certificate === undefined) return t.skip('openssl is not installed')
  const receiver = await startReceiver(t, { tls: certificate })
  const env = { SECRET_KEY: 'Zq3vT9xLk2mN8pR5wY7bC4dF6gH1jS0u', WEBHOOK_URL: receiver.url, WEBHOOK_SECRET }
  const run = (more: Record<string, string>) =>
    runNode(t, LATCHKEY, ['webhook', 'test'], { cwd: temporaryFolder(t), env: { ...env, ...more } })
  refusedWith(await run({}), 1, 'the receiver did not accept the test event: no answer: DEPTH_ZERO_SELF_SIGNED_CERT')
  assert.equal(receiver.received.length, 0)
  const trusted = await run({ NODE_EXTRA_CA_CERTS: certificate.certFile })
  assert.equal(trusted.code, 0, trusted.stderr)
  assert.equal(receiver.received.length, 1)
})
