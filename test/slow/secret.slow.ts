import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../support/databases/databases.ts'
import { askPatiently, registration } from '../support/load/traffic.ts'
import { runLatchkey } from '../support/processes/command-line.ts'
import { type MainProcess, startMain } from '../support/processes/main-process.ts'

// A new connection each time, so that the workers take turns.
const CLOSE = { connection: 'close' }

const rotate = (cwd: string, env = {}) => runLatchkey(['secret', 'rotate'], { cwd, env })

const refreshStatus = async (url: string, refresh: string) => (await askPatiently(url, 'POST', '/refresh/', { refresh }, CLOSE)).status

/** Registers an account, and returns its refresh token. */
async function register(url: string, name: string): Promise<string> {
  const { body } = await askPatiently(url, 'POST', '/register/', registration(`${name}@example.com`), CLOSE)
  return (body as { refresh: string }).refresh
}

async function stop({ child, ended }: MainProcess): Promise<void> {
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)
}

test('secret rotate logs nobody out: neither in the running service nor after its restart', async (t) => {
  const cwd = temporaryFolder(t)
  const file = join(cwd, 'data/secret.key')
  const first = await startMain(t, { cwd, env: { WORKERS: '2' } })
  const refresh = await register(first.url, 'mia')
  const former = readFileSync(file, 'utf8')
  const { code, stdout, stderr } = await rotate(cwd)
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^Replaced the secret key in data\/secret\.key\. .*\nRestart the service now\. .*\nKeep copies of both files, .*\n$/)
  assert.notEqual(readFileSync(file, 'utf8'), former)
  assert.equal(readFileSync(`${file}.former`, 'utf8'), former)
  assert.ok(!stdout.includes(former.trim()) && !stdout.includes(readFileSync(file, 'utf8').trim()))
  // A worker that is replaced now has the secret of its siblings, not the one of the file.
  const workers = () => [...first.stdout().matchAll(/"pid":(\d+),[^\n]*"msg":"listening"/g)].map(([, pid]) => Number(pid))
  await first.untilSaid(/("msg":"listening".*){2}/s)
  process.kill(workers()[0] ?? 0, 'SIGKILL')
  await first.untilSaid(/("msg":"listening".*){3}/s)
  const tokens = [refresh]
  for (const name of ['ada', 'bob', 'eva', 'kim']) tokens.push(await register(first.url, name))
  for (const token of [...tokens, ...tokens, ...tokens]) assert.equal(await refreshStatus(first.url, token), 200)
  await stop(first)

  const second = await startMain(t, { cwd })
  for (const token of tokens) assert.equal(await refreshStatus(second.url, token), 200)
  assert.doesNotMatch(second.stdout(), /secret\.rotated/, 'the command has reported the rotation')
  const newest = await register(second.url, 'eve')
  await stop(second)
  writeFileSync(`${file}.former`, '')
  const third = await startMain(t, { cwd })
  assert.deepEqual([await refreshStatus(third.url, newest), await refreshStatus(third.url, refresh)], [200, 401])
})
