import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as nodeTest, type TestContext } from 'node:test'
import { report } from '../../../src/cli/moving/run-import.ts'
import { temporaryFolder, test } from '../../support/databases/databases.ts'
import { commandLine } from '../../support/processes/command-line.ts'

function writeFile(t: TestContext, name: string, ...lines: (object | string)[]): string {
  const file = join(temporaryFolder(t), name)
  writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
  return file
}

nodeTest('counts that do not add up are an error, whichever of them is wrong', () => {
  const counts = { read: 10, created: 4, updated: 3, skipped: 3, rejected: 0 }
  report(counts, false, false)
  for (const name of ['read', 'created', 'updated', 'skipped', 'rejected'] as const)
    for (const isJson of [false, true])
      assert.throws(() => report({ ...counts, [name]: counts[name] + 1 }, false, isJson), /the counts do not add up/, name)
})

test('--json prints the counts of an import as numbers, and the exit code is 1 if a user was rejected', async (t) => {
  const line = await commandLine(t)
  const file = writeFile(t, 'users.jsonl', { email: 'ada@example.com' }, { email: 'nobody' }, { email: 'ADA@example.com' })
  const rejecting = await line.run(['user', 'import', file, '--from', 'latchkey', '--json'])
  assert.deepEqual(rejecting, {
    code: 1,
    signal: null,
    stdout: '{"read":3,"created":1,"updated":0,"skipped":1,"rejected":1}\n',
    stderr: 'latchkey: line 2: email: should be an e-mail address\n',
  })
  const complete = writeFile(t, 'complete.jsonl', { email: 'ada@example.com', first_name: 'Ada' })
  const { code, stdout } = await line.run(['user', 'import', complete, '--from', 'latchkey', '--on-conflict', 'update', '--json'])
  assert.deepEqual([code, stdout], [0, '{"read":1,"created":0,"updated":1,"skipped":0,"rejected":0}\n'])
})
