import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Asked } from './client.ts'
import { type Latency, latencyOf } from './latency.ts'

export type Heartbeat = { stop(): Promise<Latency> }

/** What the thread asks, and of whom. */
export type HeartbeatQuestion = { readonly url: string; readonly asked: Asked }

/**
 * Asks /heartbeat, or something else that is small, again and again while something large is measured: what holds the event loop of
 * the service shows here. It runs on a thread of its own, so that it does not feel what the rest of the bench is doing.
 */
export async function startHeartbeat(url: string, asked: Asked = { path: '/heartbeat' }): Promise<Heartbeat> {
  const question: HeartbeatQuestion = { url, asked }
  const worker = new Worker(new URL('./heartbeat.worker.ts', import.meta.url), { workerData: question })
  // It says a word as soon as it counts.
  await once(worker, 'message')
  return {
    async stop() {
      worker.postMessage('stop')
      const [timesMs] = (await once(worker, 'message')) as [number[]]
      return latencyOf(timesMs)
    },
  }
}
