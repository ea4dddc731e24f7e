import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { startMain } from '../../support/processes/main-process.ts'
import { LATCHKEY, runNode } from '../../support/processes/processes.ts'

const README = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
const run = promisify(execFile)

test('the first session of the README works as it is written', async (t) => {
  const session = README.split('\n## A first session\n')[1]?.split('\n## ')[0] ?? ''
  const [admin = '', register = '', verify = '', login = '', key = '', look = ''] = [...session.matchAll(/```sh\n([\s\S]*?)```/g)].map(
    ([, block]) => block ?? '',
  )
  const cwd = temporaryFolder(t)
  const { url, port, untilSaid, stdout } = await startMain(t, { cwd })
  const shell = async (commands: string) => (await run('bash', ['-euc', commands.replaceAll('http://localhost:8000', url)])).stdout

  const command = (line: string, input = '') =>
    runNode(t, LATCHKEY, line.trim().split(' ').slice(4), { cwd, input, env: { PORT: String(port) } })

  const { code: exitCode, stdout: id } = await command(admin, 'a good password\n')
  assert.deepEqual([exitCode, id], [0, '1\n'])
  assert.match(await shell(register), /^\{"token":"[\w.-]+","refresh":"[\w.-]+"\}$/)
  await untilSaid(/code=[\w.-]+\n/)
  const code = /code=([\w.-]+)\n/.exec(stdout())?.[1] ?? ''
  assert.equal(await shell(verify.replace('THE_CODE_FROM_THE_LINK', code)), '{"detail":"User successfully Verified"}')
  const me = '{"email":"mia@example.com","first_name":"Mia","last_name":"Muster"}'
  assert.equal(await shell(login), me)
  // All blocks run in the same shell, one after the other.
  assert.equal(await shell(login + key), me + me)

  const [list = '', doctor = ''] = look.trim().split('\n')
  assert.match((await command(list)).stdout, /\n1 +admin@example\.com .* admin +verified\n2 +mia@example\.com .* user +verified\n$/)
  assert.match((await command(doctor)).stdout, /\n0 errors, 1 warning\n$/)
})
