import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { until } from '../support/app/eventually.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { newEmail, PASSWORD } from '../support/http/requests.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { startRawPeer } from '../support/servers/listen.ts'
import { startSmtpPeer } from '../support/servers/smtp-peer.ts'

const COUNT = 8
// Less than the 30 seconds after which the service gives up a sending.
const STOP_MS = 25_000

test('201: a mail server that hangs delays neither registrations nor a stop, and the next process sends every mail once', async (t) => {
  const folder = temporaryFolder(t)
  const hanging = await startRawPeer(t, () => undefined)
  const first = await startProcess(t, { SMTP_URL: hanging.url }, folder)
  const emails = Array.from({ length: COUNT }, newEmail)
  for (const email of emails) {
    const body = JSON.stringify({ email, password: PASSWORD, first_name: 'Mia', last_name: 'Muster' })
    const headers = { 'content-type': 'application/json' }
    const send = () => fetch(`${first.url}/register/`, { method: 'POST', headers, body, signal: AbortSignal.timeout(9000) })
    // On a busy machine, a request may wait too long for its password hash.
    await until('a registration', async () => (await send()).status === 201)
  }
  const exited = once(first.process, 'exit', { signal: AbortSignal.timeout(STOP_MS) })
  first.process.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
  assert.ok(!emails.some((email) => first.output().includes(email)), 'no address is logged')

  const peer = await startSmtpPeer(t)
  await startProcess(t, { SMTP_URL: peer.url }, folder)
  await until('all mail is sent', () => peer.deliveries.length >= COUNT)
  assert.deepEqual(peer.deliveries.map(({ to }) => String(to)).sort(), emails.sort())
})
