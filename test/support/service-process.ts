import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from './databases.ts'
import { TEST_SECRET } from './start-app.ts'

export type ServiceProcess = {
  readonly url: string
  readonly process: ChildProcess
  /** What it has printed so far, both streams. */
  output(): string
}

const PRINT_DEADLINE_MS = 20_000
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** The real service in a process of its own, in a temporary folder, on a free port. It is killed when the test ends. */
export async function startProcess(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
  folder = temporaryFolder(t),
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [MAIN], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORT: '0', SECRET_KEY: TEST_SECRET, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const exited = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      const listening = /listens on (http:\/\/\S+)/.exec(output)?.[1]
      if (listening !== undefined) resolve(listening)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void exited.then(() => reject(new Error(`the service ended before it listened:\n${output}`)))
  })
  return { url, process: child, output: () => output }
}

/** Waits until the service has printed what matches, and gives the last match. */
export async function untilPrinted({ process: child, output }: ServiceProcess, pattern: RegExp): Promise<string> {
  const everywhere = new RegExp(pattern.source, `${pattern.flags}g`)
  const deadline = AbortSignal.timeout(PRINT_DEADLINE_MS)
  for (;;) {
    const last = [...output().matchAll(everywhere)].at(-1)?.[0]
    if (last !== undefined) return last
    if (child.stdout === null) throw new Error('the output of the service is not read')
    await once(child.stdout, 'data', { signal: deadline })
  }
}
