import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryFolder } from '../support/databases/databases.ts'
import { read } from '../support/documents.ts'
import { startMain } from '../support/processes/main-process.ts'
import { LATCHKEY, runNode } from '../support/processes/processes.ts'
import { assertSteps, missingTool, readSteps } from '../support/processes/shell-page.ts'
import { freePort } from '../support/servers/free-port.ts'

const USERS = ['ada@example.com', 'mia@example.com']

test('every command of docs/walkthrough.md prints what the page shows, while a service with users runs in the same folder', async (t) => {
  const missing = missingTool('bash', 'curl')
  if (missing !== undefined) return t.skip(`${missing} is not installed: the walk-through is not checked on this machine`)
  const folder = temporaryFolder(t)
  const latchkey = (...args: string[]) => runNode(t, LATCHKEY, args, { cwd: folder })
  await startMain(t, { cwd: folder })
  for (const email of USERS)
    await latchkey('user', 'create', '--admin', '--email', email, '--first-name', 'A', '--last-name', 'B', '--password', 'a good password')
  const before = await latchkey('user', 'list', '--json')
  assert.equal(JSON.parse(before.stdout).length, USERS.length)
  const steps = readSteps(read('docs/walkthrough.md'))
  assert.ok(steps.length > 70, 'the page was not read whole')
  await assertSteps(steps, { folder, replaced: { 'PORT=8010': `PORT=${await freePort()}` } })
  assert.deepEqual(await latchkey('user', 'list', '--json'), before)
  return undefined
})
