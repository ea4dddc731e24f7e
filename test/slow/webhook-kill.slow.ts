import assert from 'node:assert/strict'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../support/app/eventually.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { freshDatabase, temporaryFolder, test } from '../support/databases/databases.ts'
import { newEmail, PASSWORD } from '../support/http/requests.ts'
import { ask, askPatiently } from '../support/load/traffic.ts'
import { LATCHKEY, runNode } from '../support/processes/processes.ts'
import { startProcess } from '../support/processes/service-process.ts'
import { startReceiver, WEBHOOK_SECRET } from '../support/servers/webhook-receiver.ts'

const USERS = 4
const KILLS = 3
const KEYS = 1400
// The service falls behind while the keys are created.
const SLOW_ANSWER_MS = 150
// Each cut request delays the webhooks of its user by at least five seconds.
const DEADLINE_MS = 900_000

test('1,400 webhooks reach a receiver that cuts one request in twenty, from a service that is killed three times', async (t) => {
  const target = await freshDatabase(t, t.database)
  const folder = temporaryFolder(t)
  const receiver = await startReceiver(t)
  const env = {
    DATABASE_URL: target.kind === 'sqlite' ? 'sqlite:data/latchkey.db' : target.url,
    SECRET_KEY: TEST_SECRET,
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET,
    WEBHOOK_EVENTS: 'key.created',
    LOG_LEVEL: 'error',
  }
  const arrived = new Set<string>()
  let answerMs = SLOW_ANSWER_MS
  let requests = 0
  receiver.answer = async (response, { body }) => {
    if (++requests % 20 === 0) return void response.socket?.destroy()
    await sleep(answerMs)
    arrived.add(String(body.data['key_id']))
    response.writeHead(204).end()
  }
  const emails = Array.from({ length: USERS }, newEmail)
  for (const email of emails) {
    const person = ['--email', email, '--first-name', 'Mia', '--last-name', 'Muster', '--password', PASSWORD]
    assert.equal((await runNode(t, LATCHKEY, ['user', 'create', ...person], { cwd: folder, env })).code, 0)
  }

  const created: string[] = []
  for (let kill = 1; kill <= KILLS; kill++) {
    const { url, process: service } = await startProcess(t, env, folder)
    await Promise.all(emails.map((email) => createKeys(url, email, created, (KEYS * kill) / KILLS)))
    const closed = once(service, 'close')
    service.kill('SIGKILL')
    await closed
  }
  answerMs = 0
  const missing = () => created.filter((id) => !arrived.has(id)).length
  t.diagnostic(`${created.length} keys, ${missing()} not reported at the last kill`)
  await startProcess(t, env, folder)
  const startedAt = performance.now()
  const all = until('every key is reported', () => missing() === 0, DEADLINE_MS)
  await all.catch(() => assert.fail(`${missing()} of ${created.length} are not reported after ${DEADLINE_MS / 60_000} minutes`))
  t.diagnostic(`all reported ${Math.round((performance.now() - startedAt) / 1000)} s later, in ${requests} requests`)
})

/** Logs in and creates keys, until there are enough of all users together. */
async function createKeys(url: string, email: string, created: string[], enough: number): Promise<void> {
  const { status, body } = await askPatiently(url, 'POST', '/login/', { email, password: PASSWORD })
  assert.equal(status, 200)
  const bearer = { authorization: `Bearer ${(body as { token: string }).token}` }
  while (created.length < enough) {
    const answer = await ask(url, 'POST', '/users/keys', { name: 'one', scopes: [] }, bearer)
    if (answer.status === 200) created.push((answer.body as { id: string }).id)
    else assert.equal(answer.status, 503, JSON.stringify(answer.body))
  }
}
