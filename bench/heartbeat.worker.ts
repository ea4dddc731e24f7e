import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { ask } from './client.ts'
import type { HeartbeatQuestion } from './heartbeat.ts'

const PAUSE_MS = 20
const WARM_UP = 20

// The entry point of the thread that heartbeat.ts starts.
if (parentPort !== null) {
  const port = parentPort
  const { url, asked } = workerData as HeartbeatQuestion
  const timesMs: number[] = []
  let isOver = false
  port.once('message', () => {
    isOver = true
  })
  for (let round = 0; !isOver; round++) {
    const { tookMs } = await ask(url, asked)
    if (round === WARM_UP) port.postMessage('counting')
    if (round >= WARM_UP) timesMs.push(tookMs)
    await sleep(PAUSE_MS)
  }
  port.postMessage(timesMs)
  process.exit(0)
}
