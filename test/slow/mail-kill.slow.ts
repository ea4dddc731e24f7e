import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startApp, TEST_SECRET, type TestApp } from '../support/app/start-app.ts'
import { type ContractContext, test } from '../support/databases/databases.ts'
import { startRawPeer } from '../support/servers/listen.ts'
import { outboxRows } from '../support/servers/post-office.ts'

const DOOMED = fileURLToPath(new URL('../support/processes/killed-process.ts', import.meta.url))
const EMAIL = 'mia@example.com'

/** Another process on the same database, which has registered an account. */
async function startDoomed(t: ContractContext, { config }: TestApp, env: Record<string, string> = {}) {
  const { database } = config
  const databaseUrl = database.kind === 'sqlite' ? `sqlite:${database.file}` : database.url
  const child = spawn(process.execPath, [DOOMED], {
    env: { ...process.env, DATABASE_URL: databaseUrl, SECRET_KEY: TEST_SECRET, EMAIL, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data', { signal: AbortSignal.timeout(60_000) })
  return {
    async kill() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

test('a mail whose process is killed between the commit and the sending is sent by the next process', async (t) => {
  const testApp = await startApp(t)
  const doomed = await startDoomed(t, testApp)
  await doomed.kill()
  // The other process uses the real clock.
  testApp.clock.advance({ ms: ((await outboxRows(testApp))[0]?.due_at ?? 0) - testApp.clock.now() })
  assert.equal(await testApp.mailbox.countFor(EMAIL), 1)
  assert.equal(testApp.services.tokens.read(await testApp.mailbox.codeFor(EMAIL), 'verify').userId, 1)
  assert.deepEqual(await outboxRows(testApp), [])
})

test('a mail whose process is killed while sending is sent by the next, within 20 seconds', async (t) => {
  const testApp = await startApp(t)
  const connected = Promise.withResolvers<void>()
  const peer = await startRawPeer(t, () => connected.resolve())
  const doomed = await startDoomed(t, testApp, { SMTP_URL: peer.url })
  await connected.promise
  await doomed.kill()
  const [row] = await outboxRows(testApp)
  assert.ok(row?.lease, 'the killed process held the lease')
  // The killed process lived by the real clock. The next poll comes at most 3.75 seconds after the end of the lease.
  assert.ok(row.due_at - Date.now() <= 12_000, `the lease ends ${row.due_at - Date.now()} ms after the crash`)
  assert.equal(await testApp.mailbox.countFor(EMAIL), 0)
  testApp.clock.advance({ ms: row.due_at - testApp.clock.now() })
  assert.equal(await testApp.mailbox.countFor(EMAIL), 1)
  assert.deepEqual(await outboxRows(testApp), [])
})
