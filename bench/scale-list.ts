import { open } from './client.ts'
import { startHeartbeat } from './heartbeat.ts'
import { type Latency, rounded } from './latency.ts'
import { watchMemory } from './memory.ts'
import type { BenchService } from './service.ts'

export type ListFigures = {
  readonly firstByteMs: number
  readonly totalMs: number
  readonly megabytes: number
  /** The most that the process held while it sent the list, over what it held before. */
  readonly extraMemoryMb: number
  readonly heartbeat: Latency
}

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
    extraMemoryMb: rounded(memory.stop().extraMb),
    heartbeat: await heartbeat.stop(),
  }
}
