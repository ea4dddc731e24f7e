import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { StormCount, StormOrder } from './storm.ts'

const STEP_MS = 20
const ANSWER = /^HTTP\/1\.1 (\d{3})[\s\S]*?\r\ncontent-length: (\d+)[\s\S]*?\r\n\r\n/i

// This file is the entry of a thread, which storm.ts starts with its order. It speaks over bare sockets: a client that did more for
// each request would take the cores away from those who are measured.
if (parentPort !== null) {
  parentPort.postMessage(await rage(workerData as StormOrder))
  process.exit(0)
}

async function rage({ url, body, perSecond, seconds }: StormOrder): Promise<StormCount> {
  const { hostname, port, pathname } = new URL(url)
  const head = `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
  const idle: Socket[] = []
  const statuses: Record<string, number> = {}
  const underWay: Promise<void>[] = []
  let granted = 0
  let slowestRefusalMs = 0
  const startedAt = performance.now()

  async function logIn(): Promise<void> {
    const sentAt = performance.now()
    const socket = idle.pop() ?? connect(Number(port), hostname)
    const status = await answerOn(socket, head + body)
    if (status !== 'none') idle.push(socket)
    const now = performance.now()
    statuses[status] = (statuses[status] ?? 0) + 1
    if (status === '200' && now - startedAt < seconds * 1000) granted++
    if (status === '503') slowestRefusalMs = Math.max(slowestRefusalMs, now - sentAt)
  }

  for (let sent = 0; performance.now() - startedAt < seconds * 1000; await sleep(STEP_MS)) {
    const due = ((performance.now() - startedAt) / 1000) * perSecond
    for (; sent < due; sent++) underWay.push(logIn())
  }
  await Promise.all(underWay)
  return { statuses, granted, slowestRefusalMs }
}

/** The status of the answer, once all of it is there. */
function answerOn(socket: Socket, request: string): Promise<string> {
  return new Promise((resolve) => {
    let heard = ''
    function finish(status: string): void {
      socket.removeAllListeners()
      socket.on('error', () => undefined)
      resolve(status)
    }
    socket.on('data', (part) => {
      heard += part.toString('latin1')
      const [headers, status, length] = ANSWER.exec(heard) ?? []
      if (headers !== undefined && status !== undefined && heard.length >= headers.length + Number(length)) finish(status)
    })
    socket.on('error', () => finish('none'))
    socket.on('close', () => finish('none'))
    socket.write(request)
  })
}
