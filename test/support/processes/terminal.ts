import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { until } from '../app/eventually.ts'
import { LATCHKEY } from './processes.ts'

/** Prompts, each with the text that a person types in response. */
export type Dialogue = readonly (readonly [prompt: string, typed: string])[]

/** Why no terminal can be simulated on this machine, as `skip` of a test expects it. */
export const NO_TERMINAL = spawnSync('script', ['--version']).status === 0 ? false : 'script of util-linux is not installed'

/** Runs latchkey on a terminal, which `script` of util-linux simulates. `shown` is everything that the terminal shows. */
export async function atTerminal(
  cwd: string,
  args: readonly string[],
  dialogue: Dialogue,
): Promise<{ readonly code: unknown; readonly shown: string }> {
  const command = [process.execPath, LATCHKEY, ...args].map((part) => `'${part}'`).join(' ')
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { cwd, env: { PATH: process.env['PATH'] } })
  const closed = once(child, 'close')
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text))
  for (const [prompt, typed] of dialogue) {
    const from = shown.length
    await until(`the terminal shows ${prompt}`, () => shown.slice(Math.max(0, from - prompt.length)).includes(prompt))
    child.stdin.write(typed)
  }
  const [code] = await closed
  return { code, shown }
}
