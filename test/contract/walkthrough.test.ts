import assert from 'node:assert/strict'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../support/databases/databases.ts'
import { read } from '../support/documents.ts'
import { startMain } from '../support/processes/main-process.ts'
import { assertSteps, missingTool, readSteps } from '../support/processes/shell-page.ts'

const PAGE = readFileSync(new URL('../../docs/walkthrough.md', import.meta.url), 'utf8')
// Ends a command that waits forever, and with it the test.
const SHELL_DEADLINE_MS = 90_000
const END_OF_OUTPUT = '--- end of output ---'

type Step = { readonly command: string; readonly shown: string }

/** Each command of the page, with the output that the page shows below it. */
function readSteps(): Step[] {
  const blocks = [...PAGE.matchAll(/```console\n([\s\S]*?)```/g)].map(([, block]) => block ?? '')
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const end = step.indexOf('\n')
        return { command: step.slice(0, end), shown: step.slice(end + 1) }
      }),
  )
}

/** A pattern for the shown output, in which `…` matches any text within a line. */
function patternOf(shown: string): RegExp {
  return new RegExp(`^${shown.split('…').map(RegExp.escape).join('[^\\n]+?')}$`)
}

/** Runs all commands in one shell, as a reader does, and returns the output of each. */
async function runSteps(steps: readonly Step[], folder: string, url: string): Promise<string[]> {
  const script = steps.map(({ command }) => `${command}\necho '${END_OF_OUTPUT}'\n`).join('')
  const here = script.replaceAll('http://localhost:8000', url).replaceAll('npm run --silent latchkey --', '"$NODE" "$LATCHKEY"')
  const env = { PATH: process.env['PATH'], NODE: process.execPath, LATCHKEY }
  const shell = spawn('bash', ['-c', `exec 2>&1\n${here}`], { cwd: folder, env, timeout: SHELL_DEADLINE_MS })
  const output = await readAll(shell.stdout)
  return output.split(`${END_OF_OUTPUT}\n`).slice(0, -1)
}

test('every command of docs/walkthrough.md prints the output that the page shows', async (t) => {
  for (const tool of ['bash', 'curl']) {
    if (spawnSync(tool, ['--version']).status !== 0)
      return t.skip(`${tool} is not installed: the walk-through is not checked on this machine`)
  }
  const folder = temporaryFolder(t)
  const { url, child } = await startMain(t, { cwd: folder })
  child.stdout?.pipe(createWriteStream(join(folder, 'service.log')))
  const steps = readSteps(read('docs/walkthrough.md'))
  assert.ok(steps.length > 70, 'the page was not read whole')
  await assertSteps(steps, { folder, url })
  return undefined
})
