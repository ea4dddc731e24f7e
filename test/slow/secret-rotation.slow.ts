import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateSecretKey } from '../../src/security/secret-key.ts'
import { eventually, until } from '../support/app/eventually.ts'
import { freshDatabase, temporaryFolder } from '../support/databases/databases.ts'
import { newEmail, PASSWORD } from '../support/http/requests.ts'
import { ask, registration } from '../support/load/traffic.ts'
import { type MainProcess, startMain } from '../support/processes/main-process.ts'
import { LATCHKEY, runNode } from '../support/processes/processes.ts'
import { codeFor, startSmtpPeer } from '../support/servers/smtp-peer.ts'

const CLIENTS = 4
/** How long the load meets each state of the two processes. */
const STATE_MS = 3000

type Settings = { readonly SECRET_KEY: string; readonly SECRET_KEY_FALLBACKS: string }
type Counts = Record<string, number>

/** Two processes on one PostgreSQL. A process that restarts gets no requests meanwhile, as behind a proxy. */
async function startPair(t: TestContext, settings: Settings) {
  const target = await freshDatabase(t, 'postgres')
  const peer = await startSmtpPeer(t)
  const env = { DATABASE_URL: target.setting, SMTP_URL: peer.url, LOG_LEVEL: 'error' }
  const folder = temporaryFolder(t)
  const start = (given: Settings) => startMain(t, { cwd: folder, env: { ...env, ...given } })
  const running: MainProcess[] = [await start(settings), await start(settings)]

  async function restart(given: Settings): Promise<void> {
    const leaving = running.shift()
    leaving?.child.kill('SIGTERM')
    assert.equal((await leaving?.ended)?.code, 0)
    running.push(await start(given))
  }

  /** The messages of `latchkey doctor` about the rotation. */
  async function doctor(given: Settings): Promise<string> {
    const { stdout } = await runNode(t, LATCHKEY, ['doctor', '--json'], { cwd: folder, env: { ...env, ...given, PORT: '0' } })
    const findings = JSON.parse(stdout) as { check: string; message: string }[]
    return findings.flatMap(({ check, message }) => (check === 'rotation' ? [message] : [])).join('\n')
  }

  /** On a busy machine, the record of a process may come late. */
  async function untilDoctorSays(given: Settings, expected: RegExp): Promise<void> {
    await until(`doctor says ${expected}`, async () => expected.test(await doctor(given)))
  }

  const anyUrl = () => running[Math.floor(Math.random() * running.length)]?.url ?? ''
  return { peer, anyUrl, restart, untilDoctorSays }
}

type Pair = Awaited<ReturnType<typeof startPair>>

/** Clients that keep a session from before the rotation, and open new accounts whose mailed links they use. */
function startLoad({ peer, anyUrl }: Pair) {
  const counts: Counts = {}
  const refused: string[] = []
  let isStopped = false

  /** A request to either process. One that was cut off by a restart is sent again; every answer has to be the expected one. */
  async function expect(status: number, method: string, path: string, body?: unknown, headers?: Record<string, string>) {
    const answer = await eventually(`${method} ${path.split('?')[0]} is answered`, async () => {
      const attempt = await ask(anyUrl(), method, path, body, headers)
      return attempt.status === 0 || attempt.status === 503 ? undefined : attempt
    })
    counts[answer.what] = (counts[answer.what] ?? 0) + 1
    if (answer.status !== status) refused.push(`${answer.what}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body as Record<string, string>
  }

  async function client(): Promise<void> {
    const email = newEmail()
    const first = await expect(201, 'POST', '/register/', registration(email))
    // The code was signed by the process that sent the mail, and is used at either.
    await expect(200, 'GET', `/verify/?code=${await codeFor(peer, email, '/verify')}`)
    let { token } = first
    while (!isStopped) {
      await expect(200, 'GET', '/users/me', undefined, { authorization: `Bearer ${first['token']}` })
      await expect(200, 'GET', '/users/me', undefined, { authorization: `Bearer ${token}` })
      token = (await expect(200, 'POST', '/refresh/', { refresh: first['refresh'] }))['token'] ?? ''
      const other = newEmail()
      const late = await expect(201, 'POST', '/register/', registration(other))
      const verify = await codeFor(peer, other, '/verify')
      await sleep(500 * Math.random())
      await expect(200, 'GET', `/verify/?code=${verify}`)
      await expect(200, 'POST', '/refresh/', { refresh: late['refresh'] })
      await expect(200, 'POST', '/forgot-password/', { email: other })
      const reset = await codeFor(peer, other, '/reset-password')
      await expect(200, 'POST', '/reset-password/', { code: reset, new_password: PASSWORD })
    }
    await expect(200, 'POST', '/refresh/', { refresh: first['refresh'] })
  }

  const clients = Array.from({ length: CLIENTS }, client)
  return {
    counts,
    refused,
    async stop() {
      isStopped = true
      await Promise.all(clients)
    },
  }
}

test('a rotation over two processes under load, step by step as in docs/operations.md, logs nobody out and refuses no mailed link', async (t) => {
  const [former, next] = [generateSecretKey(), generateSecretKey()]
  const before = { SECRET_KEY: former, SECRET_KEY_FALLBACKS: '' }
  const announced = { SECRET_KEY: former, SECRET_KEY_FALLBACKS: next }
  const switched = { SECRET_KEY: next, SECRET_KEY_FALLBACKS: former }
  const pair = await startPair(t, before)
  const load = startLoad(pair)
  await sleep(STATE_MS)
  await pair.untilDoctorSays(before, /^none in progress$/)

  await pair.restart(announced)
  await sleep(STATE_MS)
  await pair.untilDoctorSays(announced, /^processes with other secrets than these settings: 1 of 2$/)
  await pair.restart(announced)
  await pair.untilDoctorSays(announced, /is new: it has not signed anything, and every running process accepts it$/)

  await pair.restart(switched)
  await sleep(STATE_MS)
  await pair.untilDoctorSays(switched, /^processes with other secrets than these settings: 1 of 2$/)
  await pair.restart(switched)
  await sleep(STATE_MS)
  await pair.untilDoctorSays(switched, /^the secret in SECRET_KEY_FALLBACKS has signed tokens that are valid until /)

  await load.stop()
  assert.deepEqual(load.refused, [])
  t.diagnostic(JSON.stringify(load.counts))
  for (const what of ['GET /users/me', 'POST /refresh/', 'GET /verify/', 'POST /reset-password/'])
    assert.ok((load.counts[what] ?? 0) >= 2 * CLIENTS, `${what} was used`)
})

test('control: without the first step the same load is refused, and doctor says so', async (t) => {
  const [former, next] = [generateSecretKey(), generateSecretKey()]
  const switched = { SECRET_KEY: next, SECRET_KEY_FALLBACKS: former }
  const pair = await startPair(t, { SECRET_KEY: former, SECRET_KEY_FALLBACKS: '' })
  const load = startLoad(pair)
  await pair.restart(switched)
  await sleep(STATE_MS)
  await pair.untilDoctorSays(switched, /^processes that sign tokens which another process refuses: 1 of 2$/)
  await load.stop()
  assert.ok(load.refused.some((answer) => answer.includes('401')))
})
