import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { text as readAll } from 'node:stream/consumers'
import { LATCHKEY, MAIN } from './processes.ts'

/** Why no terminal can be simulated on this machine, as `skip` of a test expects it. */
export const NO_TERMINAL = spawnSync('script', ['--version']).status === 0 ? false : 'script of util-linux is not installed'

// A command that never ends is stopped after this time, together with the shell.
const SHELL_DEADLINE_MS = 600_000
const END_OF_OUTPUT = '--- end of output ---'

export type Step = { readonly command: string; readonly shown: string }

export type Shell = {
  readonly folder: string
  /** Texts of the page that differ for the test, such as the URL of the service. */
  readonly replaced: Readonly<Record<string, string>>
}

// The folder of a test has no package.json.
const REPLACED = { 'npm run --silent latchkey --': '"$NODE" "$LATCHKEY"', 'npm start': '"$NODE" "$MAIN"' }
// Also when a command never ends.
const STOP_JOBS = "trap 'kill $(jobs -p) 2> /dev/null' EXIT"

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

/** Runs all commands in one shell on a terminal, in which only their own variables are set, and asserts that each prints what the page shows. */
export async function assertSteps(steps: readonly Step[], { folder, replaced }: Shell): Promise<void> {
  let script = steps.map(({ command }) => `${command}\necho '${END_OF_OUTPUT}'\n`).join('')
  for (const [text, other] of Object.entries({ ...REPLACED, ...replaced })) script = script.replaceAll(text, () => other)
  const command = 'exec bash -c "$PAGE"'
  const [program, ...args] = NO_TERMINAL ? ['sh', '-c', command] : ['script', '--quiet', '--command', command, '/dev/null']
  const shell = spawn(program, args, {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      NODE: process.execPath,
      MAIN,
      LATCHKEY,
      PAGE: `exec 2>&1\nset -u\n${STOP_JOBS}\n${script}`,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: SHELL_DEADLINE_MS,
  })
  const printed = (await readAll(shell.stdout)).replaceAll('\r\n', '\n')
  const outputs = printed.split(`${END_OF_OUTPUT}\n`).slice(0, -1)
  for (const [n, { command, shown }] of steps.entries())
    assert.match(outputs[n] ?? 'no output', patternOf(shown), `$ ${command}\nshould print\n${shown}and prints\n${outputs[n]}`)
  assert.equal(outputs.length, steps.length)
}
