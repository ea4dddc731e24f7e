import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { StormCount, StormOrder } from './storm.ts'

const STEP_MS = 5

// This file is the entry of a thread, which storm.ts starts with its order.
if (parentPort !== null) {
  parentPort.postMessage(await rage(workerData as StormOrder))
  process.exit(0)
}

async function rage({ url, body, perSecond, seconds }: StormOrder): Promise<StormCount> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const statuses: Record<string, number> = {}
  const underWay: Promise<void>[] = []
  let granted = 0
  let slowestRefusalMs = 0
  const startedAt = performance.now()

  async function logIn(): Promise<void> {
    const sentAt = performance.now()
    const status = await statusOf().catch(() => 'none')
    const now = performance.now()
    statuses[status] = (statuses[status] ?? 0) + 1
    if (status === '200' && now - startedAt < seconds * 1000) granted++
    if (status === '503') slowestRefusalMs = Math.max(slowestRefusalMs, now - sentAt)
  }

  async function statusOf(): Promise<string> {
    const sent = request(url, { method: 'POST', headers, agent }).end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    await once(response, 'end')
    return String(response.statusCode)
  }

  for (let sent = 0; performance.now() - startedAt < seconds * 1000; await sleep(STEP_MS)) {
    const due = ((performance.now() - startedAt) / 1000) * perSecond
    for (; sent < due; sent++) underWay.push(logIn())
  }
  await Promise.all(underWay)
  return { statuses, granted, slowestRefusalMs }
}
