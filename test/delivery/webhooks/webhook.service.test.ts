import assert from 'node:assert/strict'
import { loadConfig } from '../../../src/config/load.ts'
import { statement } from '../../../src/storage/database.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { member } from '../../support/app/actors.ts'
import { until } from '../../support/app/eventually.ts'
import { startApp, TEST_SECRET } from '../../support/app/start-app.ts'
import { temporaryFolder, test } from '../../support/databases/databases.ts'
import { PASSWORD } from '../../support/http/requests.ts'
import { registerAt } from '../../support/load/traffic.ts'
import { runLatchkey } from '../../support/processes/command-line.ts'
import { startProcess } from '../../support/processes/service-process.ts'
import {
  answering,
  openWebhooks,
  startReceiver,
  untilReceived,
  WEBHOOK_SECRET,
  webhookRows,
  webhookSettings,
} from '../../support/servers/webhook-receiver.ts'

const MAKE_OLD = statement('update webhook_deliveries set requested_at = 0, due_at = 0')

/** The values of the metrics of webhooks: the attempts by outcome, and the others by name. */
function webhookMetrics(text: string): Record<string, number> {
  const lines = text.matchAll(/^latchkey_(?:webhook_deliveries_total\{outcome="(\w+)"\}|(webhooks_\w+)) (\S+)$/gm)
  return Object.fromEntries([...lines].map(([, outcome, name, value]) => [outcome ?? name, Number(value)]))
}

test('metrics count attempts by outcome, and webhooks that wait or were given up', async (t) => {
  const receiver = await startReceiver(t)
  const settings = { ...(await webhookSettings(t, receiver)), WEBHOOK_EVENTS: 'user.registered', METRICS_ENABLED: 'true' }
  const service = await startProcess(t, settings)
  const db = await openDatabase(loadConfig({ ...settings, SECRET_KEY: TEST_SECRET }).database)
  t.after(() => db.close())
  let found: Record<string, number> = {}
  const untilMeasured = async (expected: Readonly<Record<string, number>>) => {
    const hasExpected = async () => {
      found = webhookMetrics(await (await fetch(`${service.url}/metrics`)).text())
      return Object.entries(expected).every(([name, value]) => found[name] === value)
    }
    await until(JSON.stringify(expected), hasExpected).catch((error) => assert.fail(`${error}: ${JSON.stringify(found)}`))
  }
  receiver.answer = answering(503)
  await registerAt(service.url)
  await untilReceived(receiver, 1)
  await untilMeasured({ delivered: 0, failed: 0, webhooks_pending: 1, webhooks_failed: 0, webhooks_stopped: 0 })
  await until('an attempt is counted', async () => {
    found = webhookMetrics(await (await fetch(`${service.url}/metrics`)).text())
    return Number(found['retried']) > 0
  })
  // Three days later the next attempt is the last one.
  await db.run(MAKE_OLD)
  await untilMeasured({ delivered: 0, failed: 1, webhooks_pending: 0, webhooks_failed: 1 })
  // A busy machine may have tried more than once by then.
  const retried = Number(found['retried'])
  receiver.answer = answering(204)
  for (let count = 0; count < 2; count++) await registerAt(service.url)
  await untilMeasured({ delivered: 2, retried, failed: 1, webhooks_pending: 0, webhooks_failed: 1, webhooks_oldest_age_seconds: 0 })
  receiver.answer = answering(410)
  await registerAt(service.url)
  await untilMeasured({ delivered: 2, retried: retried + 1, webhooks_pending: 1, webhooks_stopped: 1 })
})

test('changes on the command line and at start are delivered too, and no secret is printed', async (t) => {
  const receiver = await startReceiver(t)
  const settings = await webhookSettings(t, receiver)
  const admin = { ADMIN_EMAIL: 'ada@example.com', ADMIN_PASSWORD: PASSWORD }
  const service = await startProcess(t, { ...settings, ...admin })
  await untilReceived(receiver, 2)
  const run = (...args: string[]) => runLatchkey(args, { cwd: temporaryFolder(t), env: { ...settings, SECRET_KEY: TEST_SECRET } })
  const made = await run('key', 'create', 'ada@example.com', '--name', 'ci', '--json')
  assert.equal(made.code, 0, made.stderr)
  const dry = await run('user', 'delete', 'ada@example.com', '--dry-run')
  assert.equal(dry.code, 1, 'the last admin')
  await untilReceived(receiver, 3)
  assert.deepEqual(
    receiver.received.map(({ body: { type, data } }) => ({ type, data })),
    [
      { type: 'user.registered', data: { user_id: 1 } },
      { type: 'user.promoted', data: { user_id: 1 } },
      { type: 'key.created', data: { user_id: 1, key_id: JSON.parse(made.stdout).id } },
    ],
  )
  for (const text of [service.output(), made.stdout, made.stderr]) assert.ok(!text.includes(WEBHOOK_SECRET.slice('whsec_'.length)))
})

test('a slow receiver occupies four connections at most, and no database connection', async (t) => {
  const receiver = await startReceiver(t)
  const app = await startApp(t, { env: { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET } })
  const held: (() => void)[] = []
  receiver.answer = (response) => void held.push(() => void response.writeHead(204).end())
  for (let count = 0; count < 10; count++) await member(app)
  const { webhooks } = openWebhooks(t, app)
  const drained = webhooks.drain()
  await until('four attempts run', () => held.length === 4)
  const response = await app.app.inject('/heartbeat')
  assert.equal(response.statusCode, 200)
  assert.equal(held.length, 4)
  receiver.answer = (answered) => void answered.writeHead(204).end()
  for (const release of held) release()
  await drained
  assert.deepEqual(await webhookRows(app), [])
})
