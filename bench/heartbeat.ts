import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Asked } from './client.ts'
import { type Latency, latencyOf } from './latency.ts'

export type Heartbeat = { stop(): Promise<Latency> }

/** The service and the request that the thread sends to it. */
export type HeartbeatQuestion = { readonly url: string; readonly asked: Asked }

/**
 * Sends /heartbeat, or another small request, repeatedly during a measurement: its latency shows whether the event loop of the service
 * is blocked. It runs on a separate thread, so that the rest of the benchmark does not affect it.
 */
export async function startHeartbeat(url: string, asked: Asked = { path: '/heartbeat' }): Promise<Heartbeat> {
  const question: HeartbeatQuestion = { url, asked }
  const worker = new Worker(new URL('./heartbeat.worker.ts', import.meta.url), { workerData: question })
  // The thread sends a message when its warm-up is over.
  await once(worker, 'message')
  return {
    async stop() {
      worker.postMessage('stop')
      const [timesMs] = (await once(worker, 'message')) as [number[]]
      return latencyOf(timesMs)
    },
  }
}
