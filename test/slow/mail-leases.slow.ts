import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LEASE_MS } from '../../src/delivery/dispatcher.ts'
import { until } from '../support/app/eventually.ts'
import { freshDatabase } from '../support/databases/databases.ts'
import { newEmail } from '../support/http/requests.ts'
import { askPatiently, registration } from '../support/load/traffic.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { startRawPeer } from '../support/servers/listen.ts'
import { startSmtpPeer } from '../support/servers/smtp-peer.ts'

// Longer than a lease and the time until the next poll; each of the two delays is two seconds shorter than the timeout for silence.
const SENDING_MS = 16_000

async function register(url: string): Promise<string> {
  const email = newEmail()
  assert.equal((await askPatiently(url, 'POST', '/register/', registration(email))).status, 201)
  return email
}

async function postgresUrl(t: TestContext): Promise<string> {
  return (await freshDatabase(t, 'postgres')).setting
}

test('mails that take longer than a lease to send are sent once by two processes', async (t) => {
  const peer = await startSmtpPeer(t, { delayMs: SENDING_MS / 2 })
  const env = { DATABASE_URL: await postgresUrl(t), SMTP_URL: peer.url, LOG_LEVEL: 'error' }
  const [first] = [await startProcess(t, env), await startProcess(t, env)]
  const emails = [await register(first.url), await register(first.url)]
  // A repeated sending would begin with the first poll after the end of the lease, and be over by then.
  await sleep(LEASE_MS + 4_000 + SENDING_MS)
  assert.deepEqual(peer.deliveries.map(({ to }) => String(to)).sort(), emails.sort())
})

test('a mail whose process is killed while sending is sent by another within 20 seconds', async (t) => {
  const connected = Promise.withResolvers<void>()
  const hanging = await startRawPeer(t, () => connected.resolve())
  const DATABASE_URL = await postgresUrl(t)
  const killed = await startProcess(t, { DATABASE_URL, SMTP_URL: hanging.url })
  const email = await register(killed.url)
  await connected.promise
  const exited = once(killed.process, 'exit')
  killed.process.kill('SIGKILL')
  await exited
  const killedAt = performance.now()
  const peer = await startSmtpPeer(t)
  await startProcess(t, { DATABASE_URL, SMTP_URL: peer.url })
  // The start of the other process does not count: on a busy machine it may take longer than the lease.
  await until('the mail is out', () => peer.deliveries.length > 0, 20_000)
  t.diagnostic(`sent ${Math.round((performance.now() - killedAt) / 100) / 10} seconds after the kill`)
  assert.deepEqual(
    peer.deliveries.map(({ to }) => String(to)),
    [email],
  )
})
