import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { StormCount, StormOrder } from './storm.ts'

const STEP_MS = 20
const ANSWER = /^HTTP\/1\.1 (\d{3})[\s\S]*?\r\ncontent-length: (\d+)[\s\S]*?\r\n\r\n/i

// The entry point of the thread that storm.ts starts. It uses plain sockets: a client that did more work per request would take CPU
// time from the services that are measured.
if (parentPort !== null) {
  parentPort.postMessage(await sendLogins(workerData as StormOrder))
  process.exit(0)
}

async function sendLogins({ url, body, perSecond, seconds }: StormOrder): Promise<StormCount> {
  const { hostname, port, pathname } = new URL(url)
  const head = `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
  const idle: Socket[] = []
  const statuses: Record<string, number> = {}
  const inFlight: Promise<void>[] = []
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
    for (; sent < due; sent++) inFlight.push(logIn())
  }
  await Promise.all(inFlight)
  return { statuses, granted, slowestRefusalMs }
}

/** Returns the status when the whole response has arrived. */
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
