import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { createPasswords } from '../../../src/security/password.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { findUserByEmail } from '../../../src/storage/repositories/user.repository.ts'
import { until } from '../../support/app/eventually.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { LATCHKEY } from '../../support/processes/processes.ts'

const CREATE = 'user create --email ada@example.com --first-name Ada --last-name Admin'

/** A command at a terminal, which `script` of util-linux stands in for. */
async function atTerminal(cwd: string, typed: string): Promise<{ code: unknown; shown: string }> {
  const command = `'${process.execPath}' '${LATCHKEY}' ${CREATE}`
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { cwd, env: { PATH: process.env['PATH'] } })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text))
  await until('the question', () => shown.includes('Password: '), 30_000)
  child.stdin.write(typed)
  const [code] = await once(child, 'close')
  return { code, shown }
}

test('user create asks a person for the password, and does not show it', async (t) => {
  if (spawnSync('script', ['--version']).status !== 0) return t.skip('script is not installed')
  const cwd = temporaryFolder(t)
  const { code, shown } = await atTerminal(cwd, 'a goood\u007f\u007fd password\r')
  assert.deepEqual([code, shown], [0, 'Password: \r\n1\r\n'])
  const db = await openDatabase({ kind: 'sqlite', file: join(cwd, 'data', 'latchkey.db') })
  t.after(() => db.close())
  const user = await findUserByEmail(db, 'ada@example.com')
  assert.equal(await createPasswords().matches('a good password', user?.passwordHash), true)
})

test('a person who changes their mind leaves with Ctrl-C or Ctrl-D, and nothing is made', async (t) => {
  if (spawnSync('script', ['--version']).status !== 0) return t.skip('script is not installed')
  for (const key of ['\u0003', '\u0004']) {
    const { code, shown } = await atTerminal(temporaryFolder(t), key)
    assert.deepEqual([code, shown], [1, 'Password: \r\nlatchkey: no password was given; nothing was changed\r\n'])
  }
})
