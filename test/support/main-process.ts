import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { type Finished, MAIN, type ProcessOptions, startNode } from './processes.ts'

export type MainProcess = {
  readonly child: ChildProcess
  readonly url: string
  readonly port: number
  stdout(): string
  stderr(): string
  /** Waits until the service has said so. */
  untilSaid(words: RegExp): Promise<void>
  /** How it ends. */
  readonly ended: Promise<Finished>
}

/** The real service in a process of its own, listening on a free port. */
export async function startMain(
  t: TestContext,
  options: ProcessOptions & { script?: string; args?: readonly string[] },
): Promise<MainProcess> {
  const child = startNode(t, options.script ?? MAIN, options.args ?? [], { ...options, env: { PORT: '0', ...options.env } })
  const said = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said.stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.stderr += text))
  const ended = once(child, 'close').then(([code, signal]): Finished => ({ code, signal, ...said }))

  async function untilSaid(words: RegExp): Promise<void> {
    while (!words.test(said.stdout)) {
      const isOver = await Promise.race([ended.then(() => true), once(child.stdout ?? child, 'data').then(() => false)])
      if (!isOver || words.test(said.stdout)) continue
      const { code, signal } = await ended
      throw new Error(`the service ended with ${code ?? signal} before it said ${words}: ${said.stdout}${said.stderr}`)
    }
  }

  await untilSaid(/listens on \S+\n/)
  const url = /listens on (\S+)/.exec(said.stdout)?.[1] ?? ''
  const port = Number(new URL(url).port)
  return { child, url, port, stdout: () => said.stdout, stderr: () => said.stderr, untilSaid, ended }
}
