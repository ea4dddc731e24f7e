import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text as readAll } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

export type Finished = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}
export type ProcessOptions = {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** The content of standard input. */
  readonly input?: string
  /** Flags of Node itself, such as --import. */
  readonly nodeFlags?: readonly string[]
  /** The account to run as, if the tests run as root. */
  readonly account?: { readonly uid: number; readonly gid: number }
}

export const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url))
export const LATCHKEY = fileURLToPath(new URL('../../../src/cli/latchkey.ts', import.meta.url))

// Half of the time of a short process is the compilation of its sources.
const COMPILE_CACHE = { NODE_COMPILE_CACHE: fileURLToPath(new URL('../../../node_modules/.cache/tests', import.meta.url)) }

/** Starts a Node process without the environment of the tests. It is killed when the test ends. */
export function startNode(t: TestContext, script: string, args: readonly string[], options: ProcessOptions): ChildProcess {
  const { cwd, env = {}, nodeFlags = [], account = {} } = options
  const child = spawn(process.execPath, [...nodeFlags, script, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], ...COMPILE_CACHE, ...env },
    ...account,
  })
  t.after(() => child.kill('SIGKILL'))
  return child
}

/** Runs a script to its end. */
export async function runNode(t: TestContext, script: string, args: readonly string[], options: ProcessOptions): Promise<Finished> {
  const child = startNode(t, script, args, options)
  child.stdin?.end(options.input ?? '')
  return finished(child)
}

/** Collects the output of a process from now on, and its exit code. */
export async function finished(child: ChildProcess): Promise<Finished> {
  if (!child.stdout || !child.stderr) throw new Error('the process has no output to read')
  const [stdout, stderr, [code, signal]] = await Promise.all([readAll(child.stdout), readAll(child.stderr), once(child, 'close')])
  return { code, signal, stdout, stderr }
}
