import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'

/** A server that is measured, in its own process. */
export type BenchProcess = {
  /** The match of the line with which the server reported that it listens. */
  readonly ready: RegExpExecArray
  /** The resident memory now; undefined if the system does not report it. */
  memoryMb(): number | undefined
  /** The CPU time of all threads so far; undefined if the system does not report it. */
  processorMs(): number | undefined
  stop(): Promise<void>
}

// The unit of CPU time in /proc on Linux.
const TICK_MS = 10

/** Starts a Node process and waits until its output matches `ready`. The process is killed when the benchmark exits. */
export async function startProcess(
  args: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>>,
  ready: RegExp,
): Promise<BenchProcess> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const errors = text(child.stderr)
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    output += part
  })
  const ended = once(child, 'close')
  let match = ready.exec(output)
  while (match === null) {
    const isOver = await Promise.race([ended.then(() => true), once(child.stdout, 'data').then(() => false)])
    if (isOver) throw new Error(`${args.join(' ')} exited before it listened: ${output}${await errors}`)
    match = ready.exec(output)
  }
  const pid = child.pid ?? 0
  return {
    ready: match,
    memoryMb: () => residentMb(pid),
    processorMs: () => processorMs(pid),
    async stop() {
      process.off('exit', end)
      child.kill('SIGTERM')
      await ended
    },
  }
}

function residentMb(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
}

/** The CPU time of all threads of a process so far; undefined if the system does not report it. */
export function processorMs(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  // The name of the process is in parentheses and may contain anything, so the fields are counted from its end.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}
