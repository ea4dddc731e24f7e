import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { text as readAll } from 'node:stream/consumers'
import { LATCHKEY } from './processes.ts'

// A command that never ends is stopped after this time, together with the shell.
const SHELL_DEADLINE_MS = 600_000
const END_OF_OUTPUT = '--- end of output ---'

export type Step = { readonly command: string; readonly shown: string }

export type Shell = {
  readonly folder: string
  /** The URL of the service, in place of the one that the page names. */
  readonly url: string
  readonly env?: Readonly<Record<string, string>>
}

/** The first of these tools that is not installed. */
export function missingTool(...tools: readonly string[]): string | undefined {
  return tools.find((tool) => spawnSync(tool, [tool === 'go' ? 'version' : '--version'], { stdio: 'ignore' }).status !== 0)
}

/** Each command of a page, with the output that the page shows below it. */
export function readSteps(page: string): Step[] {
  const blocks = [...page.matchAll(/```console\n([\s\S]*?)```/g)].map(([, block]) => block ?? '')
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

/** What is shown, with `…` for any text within a line. */
function patternOf(shown: string): RegExp {
  return new RegExp(`^${shown.split('…').map(RegExp.escape).join('[^\\n]+?')}$`)
}

/** Runs all commands in one shell, as a reader does, and asserts that each prints what the page shows. */
export async function assertSteps(steps: readonly Step[], { folder, url, env = {} }: Shell): Promise<void> {
  const script = steps.map(({ command }) => `${command}\necho '${END_OF_OUTPUT}'\n`).join('')
  const here = script.replaceAll('http://localhost:8000', url).replaceAll('npm run --silent latchkey --', '"$NODE" "$LATCHKEY"')
  const shell = spawn('bash', ['-c', `exec 2>&1\n${here}`], {
    cwd: folder,
    env: { PATH: process.env['PATH'], NODE: process.execPath, LATCHKEY, ...env },
    timeout: SHELL_DEADLINE_MS,
  })
  const outputs = (await readAll(shell.stdout)).split(`${END_OF_OUTPUT}\n`).slice(0, -1)
  for (const [n, { command, shown }] of steps.entries())
    assert.match(outputs[n] ?? 'no output', patternOf(shown), `$ ${command}\nshould print\n${shown}and prints\n${outputs[n]}`)
  assert.equal(outputs.length, steps.length)
}
