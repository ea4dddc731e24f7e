import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { until } from '../app/eventually.ts'

const SERVER = new URL('./postgres-server.ts', import.meta.url).href
const FOLDER = new URL('./run-folder.ts', import.meta.url).href
const RUN = `
  import { startPostgres } from '${SERVER}'
  import { runFolder } from '${FOLDER}'
  const { url } = await startPostgres()
  console.log(JSON.stringify({ folder: runFolder(), url }))`

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`a run that ends with ${signal} leaves neither its folder nor its database behind`, async () => {
    const { TEST_RUN_FOLDER: _, ...env } = process.env
    const run = spawn(process.execPath, ['--input-type=module', '-e', RUN], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(createInterface(run.stdout), 'line')
    const { folder } = JSON.parse(line) as { folder: string }
    const inside = () =>
      execFileSync('sh', ['-c', `find /proc/[0-9]*/cwd -maxdepth 0 -lname "${folder}*" 2> /dev/null || true`], { encoding: 'utf8' })
    assert.notEqual(inside(), '')
    run.kill(signal)
    await until('the folder is removed', () => !existsSync(folder))
    assert.equal(inside(), '')
  })
}
