import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'

/** A server under measurement, in a process of its own. */
export type BenchProcess = {
  /** What its word that it listens has said. */
  readonly word: RegExpExecArray
  /** What it holds in memory now; undefined where the system does not tell. */
  memoryMb(): number | undefined
  /** The processor time that it has used so far, in all its threads; undefined where the system does not tell. */
  processorMs(): number | undefined
  stop(): Promise<void>
}

// How Linux counts processor time in /proc, on every machine that Node runs on.
const TICK_MS = 10

/** Starts a Node process and waits for its word. It ends with the bench, whatever becomes of that. */
export async function startProcess(
  args: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>>,
  word: RegExp,
): Promise<BenchProcess> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const complaints = text(child.stderr)
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    said += part
  })
  const ended = once(child, 'close')
  let heard = word.exec(said)
  while (heard === null) {
    const isOver = await Promise.race([ended.then(() => true), once(child.stdout, 'data').then(() => false)])
    if (isOver) throw new Error(`${args.join(' ')} ended before it listened: ${said}${await complaints}`)
    heard = word.exec(said)
  }
  const pid = child.pid ?? 0
  return {
    word: heard,
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

function processorMs(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  // The name of the process comes in parentheses and may hold anything; the numbers are counted from its end.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}
