import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { ask } from './client.ts'

const PAUSE_MS = 5
const WARM_UP = 20

// This file is the entry of a thread: it is started by heartbeat.ts with the address of the service.
if (parentPort !== null && typeof workerData === 'string') {
  const port = parentPort
  const timesMs: number[] = []
  let isOver = false
  port.once('message', () => {
    isOver = true
  })
  for (let round = 0; !isOver; round++) {
    const { tookMs } = await ask(workerData, { path: '/heartbeat' })
    if (round === WARM_UP) port.postMessage('counting')
    if (round >= WARM_UP) timesMs.push(tookMs)
    await sleep(PAUSE_MS)
  }
  port.postMessage(timesMs)
  process.exit(0)
}
