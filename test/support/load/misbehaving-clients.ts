import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { newEmail } from '../http/requests.ts'

export type MisbehavingClients = { readonly sockets: Socket[]; disconnect(): void }

const HEAD = 'Host: localhost\r\nContent-Type: application/json\r\n'

async function connectAll(port: number, count: number, behave: (socket: Socket) => void): Promise<MisbehavingClients> {
  const sockets: Socket[] = []
  for (let index = 0; index < count; index++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    behave(socket)
    sockets.push(socket)
  }
  return {
    sockets,
    disconnect() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Sends a text one byte at a time. */
function drip(socket: Socket, text: string, everyMs: number): void {
  let sent = 0
  const timer = setInterval(() => void socket.write(text[sent++ % text.length] ?? 'x'), everyMs)
  socket.on('close', () => clearInterval(timer))
}

/** Clients that connect and send nothing. */
export function idleClients(port: number, count: number): Promise<MisbehavingClients> {
  return connectAll(port, count, () => undefined)
}

export function slowHeaders(port: number, count: number): Promise<MisbehavingClients> {
  return connectAll(port, count, (socket) => {
    socket.write('GET /heartbeat HTTP/1.1\r\nX-Slow: ')
    drip(socket, 'a', 400)
  })
}

export function slowBodies(port: number, count: number): Promise<MisbehavingClients> {
  return connectAll(port, count, (socket) => {
    socket.write(`POST /login/ HTTP/1.1\r\n${HEAD}Content-Length: 50000\r\n\r\n`)
    drip(socket, '{', 400)
  })
}

/** Clients that request the list of all users and never read the response. */
export function slowReaders(port: number, count: number, headers: string): Promise<MisbehavingClients> {
  return connectAll(port, count, (socket) => {
    socket.pause()
    socket.write(`GET /users/ HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n`)
  })
}

/** Clients that send a complete login at the same moment and wait for its response until they disconnect. */
export async function loginsAtOnce(port: number, count: number, email: string): Promise<MisbehavingClients> {
  const body = JSON.stringify({ email, password: 'not the right one' })
  const clients = await connectAll(port, count, () => undefined)
  for (const socket of clients.sockets) socket.write(`POST /login/ HTTP/1.1\r\n${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
  return clients
}

/** Clients that request password resets for unknown addresses without a pause, until they disconnect. */
export async function flood(port: number, count: number): Promise<MisbehavingClients & { readonly statuses: number[] }> {
  const statuses: number[] = []
  // All clients connect before the first one sends, because the test measures connecting during the flood.
  const clients = await connectAll(port, count, () => undefined)
  for (const socket of clients.sockets) {
    const send = () => {
      const body = JSON.stringify({ email: newEmail() })
      socket.write(`POST /forgot-password/ HTTP/1.1\r\n${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
    }
    socket.setEncoding('latin1').on('data', (answer: string) => {
      const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]
      if (status === undefined) return
      statuses.push(Number(status))
      send()
    })
    send()
  }
  return { ...clients, statuses }
}
