import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

const LARGE_BYTES = 200_000_000
const CHUNK = Buffer.alloc(64 * 1024, ' ')
const DEADLINE_MS = 60_000

type Headers = Readonly<Record<string, string>>

/** Opens a connection, sends the headers of a POST and a body, and returns the status of the answer. */
async function statusOf(url: string, headers: Headers, sendBody: (socket: Socket) => Promise<void>): Promise<number> {
  const { hostname, port, pathname } = new URL(url)
  const socket = connect(Number(port), hostname)
  const lines = Object.entries({ host: hostname, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const signal = AbortSignal.timeout(DEADLINE_MS)
  try {
    socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n`)
    const answered = once(socket.setEncoding('latin1'), 'data', { signal })
    await Promise.all([answered, sendBody(socket)])
    const [text] = (await answered) as [string]
    return Number(text.split(' ')[1])
  } finally {
    socket.destroy()
  }
}

/** The status of the answer to a body of which nothing has been sent yet; one that is endless has no length. */
export function statusBeforeBody(url: string, length = String(LARGE_BYTES), headers: Headers = {}): Promise<number> {
  const announced = length === 'endless' ? { 'transfer-encoding': 'chunked' } : { 'content-length': length }
  return statusOf(url, { ...headers, ...announced }, async () => undefined)
}

/** The status of the answer to a large body that is sent to its end, whatever is answered meanwhile. */
export function statusOfLargeBody(url: string, headers: Headers = {}): Promise<number> {
  return statusOf(url, { ...headers, 'content-length': String(LARGE_BYTES) }, async (socket) => {
    const signal = AbortSignal.timeout(DEADLINE_MS)
    for (let sent = 0; sent < LARGE_BYTES; sent += CHUNK.length)
      if (!socket.write(CHUNK.subarray(0, LARGE_BYTES - sent))) await once(socket, 'drain', { signal })
  })
}
