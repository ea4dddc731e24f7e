import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Webhook } from 'standardwebhooks'
import { test } from '../support/databases/databases.ts'
import { registerAt } from '../support/load/traffic.ts'
import { type ServiceProcess, startProcess } from '../support/processes/service-process.ts'
import {
  answering,
  type Receiver,
  startReceiver,
  untilReceived,
  WEBHOOK_SECRET,
  webhookSettings,
} from '../support/servers/webhook-receiver.ts'

const DELIVERY_DEADLINE_MS = 120_000

async function kill({ process: child }: ServiceProcess, signal: NodeJS.Signals): Promise<void> {
  const exited = once(child, 'exit', { signal: AbortSignal.timeout(60_000) })
  child.kill(signal)
  await exited
}

/** The types that arrived, once per webhook-id. */
function idsOf({ received }: Receiver): string[] {
  return received.map(({ headers }) => String(headers['webhook-id']))
}

test('a process that is killed while it delivers loses nothing: the next one delivers the same event', async (t) => {
  const receiver = await startReceiver(t)
  const answer = receiver.answer
  receiver.answer = () => undefined
  const settings = { ...(await webhookSettings(t, receiver)), WEBHOOK_EVENTS: 'user.registered' }
  const first = await startProcess(t, settings)
  await registerAt(first.url)
  await untilReceived(receiver, 1)
  await kill(first, 'SIGKILL')
  receiver.answer = answer
  await startProcess(t, settings)
  await untilReceived(receiver, 2, DELIVERY_DEADLINE_MS)
  const [before, after] = receiver.received
  assert.ok(before && after)
  assert.equal(after.headers['webhook-id'], before.headers['webhook-id'])
  assert.equal(after.text, before.text)
  new Webhook(WEBHOOK_SECRET).verify(after.text, after.headers as Record<string, string>)
})

test('a receiver that hangs delays neither requests nor a stop, and the next process delivers at once', async (t) => {
  const receiver = await startReceiver(t)
  const answer = receiver.answer
  receiver.answer = () => undefined
  const settings = { ...(await webhookSettings(t, receiver)), WEBHOOK_EVENTS: 'user.registered' }
  const first = await startProcess(t, settings)
  for (let count = 0; count < 8; count++) await registerAt(first.url)
  // Four at a time are in flight, and hang.
  await untilReceived(receiver, 4)
  await kill(first, 'SIGTERM')
  assert.equal(first.process.exitCode, 0)
  receiver.answer = answer
  const arrived = new Set(idsOf(receiver))
  receiver.received.length = 0
  await startProcess(t, settings)
  await untilReceived(receiver, 8, DELIVERY_DEADLINE_MS)
  const ids = idsOf(receiver)
  assert.equal(new Set(ids).size, 8)
  assert.ok([...arrived].every((id) => ids.includes(id)))
})

test('two processes deliver each event once', async (t) => {
  const receiver = await startReceiver(t)
  const settings = { ...(await webhookSettings(t, receiver)), WEBHOOK_EVENTS: 'user.registered' }
  const services = [await startProcess(t, settings), await startProcess(t, settings)]
  const count = 30
  const registerSome = async (service: ServiceProcess) => {
    for (let done = 0; done < count / 2; done++) await registerAt(service.url)
  }
  await Promise.all(services.map(registerSome))
  await untilReceived(receiver, count, DELIVERY_DEADLINE_MS)
  for (const service of services) await kill(service, 'SIGTERM')
  assert.equal(receiver.received.length, count)
  assert.equal(new Set(idsOf(receiver)).size, count)
})

test('webhooks that wait while WEBHOOK_URL is not set arrive when it is set again, those of the time between are not queued', async (t) => {
  const receiver = await startReceiver(t)
  const settings = { ...(await webhookSettings(t, receiver)), WEBHOOK_EVENTS: 'user.registered' }
  const without = Object.fromEntries(Object.entries(settings).filter(([name]) => !name.startsWith('WEBHOOK_')))
  const runWith = async (env: Record<string, string>, work: (service: ServiceProcess) => Promise<void>) => {
    const service = await startProcess(t, env)
    await work(service)
    await kill(service, 'SIGTERM')
  }
  receiver.answer = answering(503)
  await runWith(settings, async (service) => {
    await registerAt(service.url)
    await untilReceived(receiver, 1)
  })
  const [first] = receiver.received
  receiver.received.length = 0
  receiver.answer = answering(204)
  await runWith(without, (service) => registerAt(service.url))
  assert.equal(receiver.received.length, 0)
  await runWith(settings, async (service) => {
    await registerAt(service.url)
    await untilReceived(receiver, 2, DELIVERY_DEADLINE_MS)
  })
  const arrived = receiver.received.map(({ body }) => body.data['user_id'])
  assert.deepEqual(arrived.sort(), [1, 3])
  assert.ok(idsOf(receiver).includes(String(first?.headers['webhook-id'])))
})
