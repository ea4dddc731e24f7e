import { open } from './client.ts'
import { startHeartbeat } from './heartbeat.ts'
import { type Latency, rounded } from './latency.ts'
import { watchMemory } from './memory.ts'
import type { BenchService } from './service.ts'

export type ListFigures = {
  readonly firstByteMs: number
  readonly totalMs: number
  readonly megabytes: number
  /** The peak memory while the list is sent, minus the memory before. */
  readonly extraMemoryMb: number
  readonly heartbeat: Latency
}

/** Measures GET /users/ from the first byte to the last, read as fast as it arrives. */
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
