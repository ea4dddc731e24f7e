import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { until } from '../support/app/eventually.ts'

const DEADLINE_MS = 180_000
const SERVER = new URL('../support/databases/postgres-server.ts', import.meta.url).href
const FOLDER = new URL('../support/databases/run-folder.ts', import.meta.url).href
const RUN = `
  import { startPostgres } from '${SERVER}'
  import { runFolder } from '${FOLDER}'
  const { url } = await startPostgres()
  console.log(JSON.stringify({ folder: runFolder(), url }))`

/** Starts a run with a database, as its own process. */
async function startRun(t: TestContext) {
  const { TEST_RUN_FOLDER: _, ...env } = process.env
  const run = spawn(process.execPath, ['--input-type=module', '-e', RUN], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => run.kill('SIGKILL'))
  const [line] = await once(createInterface(run.stdout), 'line')
  const { folder } = JSON.parse(line) as { folder: string }
  return { run, folder }
}

/** The processes that run inside a folder. */
function inside(folder: string): string {
  return execFileSync('sh', ['-c', `find /proc/[0-9]*/cwd -maxdepth 0 -lname "${folder}*" 2> /dev/null || true`], { encoding: 'utf8' })
}

/** The processes that remove the folder after its run. */
function janitorsOf(folder: string): number[] {
  const isJanitor = (id: string) => {
    try {
      return readFileSync(`/proc/${id}/cmdline`, 'utf8').endsWith(`\0${folder}\0`)
    } catch {
      return false
    }
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isJanitor(name))
    .map(Number)
}

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`a run that ends with ${signal} leaves neither its folder nor its database behind`, async (t) => {
    const { run, folder } = await startRun(t)
    assert.notEqual(inside(folder), '')
    run.kill(signal)
    await until('the folder is removed', () => !existsSync(folder), DEADLINE_MS)
    await until('nothing runs inside', () => inside(folder) === '', DEADLINE_MS)
  })
}

test('what a run leaves behind that was killed with everything it started is removed by the next run, and no folder that is in use', async (t) => {
  const [living, dead] = [await startRun(t), await startRun(t)]
  await until('the folder is locked', () => existsSync(join(dead.folder, '.lock')), DEADLINE_MS)
  for (const id of janitorsOf(dead.folder)) process.kill(id, 'SIGKILL')
  dead.run.kill('SIGKILL')
  await once(dead.run, 'exit')
  assert.notEqual(inside(dead.folder), '')
  const next = await startRun(t)
  await until('the folder is removed', () => !existsSync(dead.folder), DEADLINE_MS)
  await until('nothing runs inside', () => inside(dead.folder) === '', DEADLINE_MS)
  for (const { run, folder } of [living, next]) {
    assert.notEqual(inside(folder), '')
    run.kill('SIGTERM')
    await until('the folder is removed', () => !existsSync(folder), DEADLINE_MS)
  }
})
