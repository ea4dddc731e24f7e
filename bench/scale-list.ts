import { setTimeout as sleep } from 'node:timers/promises'
import { open } from './client.ts'
import { startHeartbeat } from './heartbeat.ts'
import { type Latency, rounded } from './latency.ts'
import type { BenchService } from './service.ts'

export type ListFigures = {
  readonly firstByteMs: number
  readonly totalMs: number
  readonly megabytes: number
  /** The most that the process held while it sent the list, over what it held before; undefined where the system does not tell. */
  readonly extraMemoryMb: number | undefined
  readonly heartbeat: Latency
}

const WATCH_EVERY_MS = 20

/** GET /users/ from its first byte to its last, read as fast as it comes. */
export async function measureList(service: BenchService, token: string): Promise<ListFigures> {
  const heartbeat = await startHeartbeat(service.url)
  const memory = watchMemory(service)
  const startedAt = performance.now()
  const response = await open(service.url, { path: '/users/', token })
  let firstByteMs: number | undefined
  let bytes = 0
  for await (const part of response) {
    firstByteMs ??= performance.now() - startedAt
    bytes += (part as Buffer).length
  }
  const totalMs = performance.now() - startedAt
  return {
    firstByteMs: rounded(firstByteMs ?? Number.NaN),
    totalMs: rounded(totalMs),
    megabytes: rounded(bytes / 2 ** 20),
    extraMemoryMb: await memory.stop(),
    heartbeat: await heartbeat.stop(),
  }
}

function watchMemory({ memoryMb }: BenchService): { stop(): Promise<number | undefined> } {
  const before = memoryMb()
  let most = before
  let isOver = false
  const watching = watch()

  async function watch(): Promise<void> {
    while (!isOver) {
      await sleep(WATCH_EVERY_MS)
      most = Math.max(most ?? 0, memoryMb() ?? 0)
    }
  }

  return {
    async stop() {
      isOver = true
      await watching
      return before === undefined ? undefined : rounded((most ?? 0) - before)
    },
  }
}
