import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { until } from '../support/app/eventually.ts'
import { temporaryFolder } from '../support/databases/databases.ts'
import { startMain } from '../support/processes/main-process.ts'
import { isAlive, npmStart } from '../support/processes/npm-start.ts'

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
