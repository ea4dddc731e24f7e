import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from '../support/app/eventually.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { startMain } from '../support/processes/main-process.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const START_DEADLINE_MS = 60_000
const STOP_DEADLINE_MS = 60_000
test('a closed stdout neither stops the service nor keeps it from stopping, 20 times', async (t) => {
  for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 4 }, (_, index) => stopWithClosedOutput(t, index)))
})

async function stopWithClosedOutput(t: TestContext, requests: number): Promise<void> {
  const { child, url } = await startMain(t, { cwd: temporaryFolder(t) })
  child.stdout?.destroy()
  child.stderr?.destroy()
  for (let count = 0; count < requests; count++) assert.equal((await fetch(`${url}/logout/`, { method: 'POST' })).status, 401)
  assert.equal((await fetch(`${url}/heartbeat`)).status, 200)
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit', { signal: AbortSignal.timeout(STOP_DEADLINE_MS) }), [0, null])
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  test(`${signal} to npm start ends the service, 3 times`, async (t) => {
    for (let round = 0; round < 3; round++) {
      const { npm, servicePid } = await npmStart(t)
      npm.kill(signal)
      await until('the service has ended', () => !isAlive(servicePid), STOP_DEADLINE_MS)
      await until('npm has ended', () => npm.exitCode !== null || npm.signalCode !== null, STOP_DEADLINE_MS)
    }
  })
}

/** The service as `npm start` runs it, and the process id of the service itself. */
async function npmStart(t: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, PORT: '0', DATABASE_URL: `sqlite:${join(temporaryFolder(t), 'latchkey.db')}`, ...settings }
  const npm = spawn('npm', ['start'], { cwd: ROOT, env })
  let printed = ''
  npm.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const pidOf = () => Number(/"pid":(\d+),[^\n]*"msg":"listening"/.exec(printed)?.[1])
  await until('the service listens', () => pidOf() > 0 && printed.includes('listens on'), START_DEADLINE_MS)
  const servicePid = pidOf()
  t.after(() => {
    npm.kill('SIGKILL')
    if (isAlive(servicePid)) process.kill(servicePid, 'SIGKILL')
  })
  return { npm, servicePid, output: () => printed }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
