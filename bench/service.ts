import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** The real service in a process of its own, on a free port. */
export type BenchService = {
  readonly url: string
  /** What the process holds in memory now; undefined where the system does not tell. */
  memoryMb(): number | undefined
  stop(): Promise<void>
}

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

export async function startService(folder: string, env: Readonly<Record<string, string>>): Promise<BenchService> {
  const child = spawn(process.execPath, [MAIN], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORT: '0', LOG_LEVEL: 'warn', ...env },
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
  while (!/listens on \S+\n/.test(said)) {
    const isOver = await Promise.race([ended.then(() => true), once(child.stdout, 'data').then(() => false)])
    if (isOver) throw new Error(`the service ended before it listened: ${said}${await complaints}`)
  }
  return {
    url: /listens on (\S+)/.exec(said)?.[1] ?? '',
    memoryMb: () => residentMb(child.pid ?? 0),
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
