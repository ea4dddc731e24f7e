import assert from 'node:assert/strict'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { read } from '../../support/documents.ts'
import { startMain } from '../../support/processes/main-process.ts'
import { assertSteps, missingTool, readSteps } from '../../support/processes/shell-page.ts'

test('every command of docs/walkthrough.md prints what the page shows', async (t) => {
  const missing = missingTool('bash', 'curl')
  if (missing !== undefined) return t.skip(`${missing} is not installed: the walk-through is not checked on this machine`)
  const folder = temporaryFolder(t)
  const { url, child } = await startMain(t, { cwd: folder })
  child.stdout?.pipe(createWriteStream(join(folder, 'service.log')))
  const steps = readSteps(read('docs/walkthrough.md'))
  assert.ok(steps.length > 70, 'the page was not read whole')
  await assertSteps(steps, { folder, url })
  return undefined
})
