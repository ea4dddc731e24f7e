import { once } from 'node:events'
import { createServer, type RequestListener, type Server as WebServer } from 'node:http'
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { boundPort } from '../../../src/shared/addresses.ts'

export type Listening = { readonly port: number; readonly url: string; stop(): Promise<void> }

/** Lets a server listen on this machine, on a free port unless the test names one. It stops with its connections when the test ends. */
export async function listen(
  t: TestContext,
  server: Server & Partial<Pick<WebServer, 'closeAllConnections'>>,
  port = 0,
): Promise<Listening> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)))
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const stop = async () => {
    if (server.closeAllConnections) server.closeAllConnections()
    else for (const socket of sockets) socket.destroy()
    if (server.listening) await new Promise((done) => server.close(done))
  }
  t.after(stop)
  const bound = boundPort(server)
  return { port: bound, url: `http://127.0.0.1:${bound}`, stop }
}

export function serve(t: TestContext, answer: RequestListener): Promise<Listening> {
  return listen(t, createServer(answer))
}

/** A server that accepts connections and hands them to the test. */
export async function startRawPeer(t: TestContext, onConnection: (socket: Socket) => void): Promise<Listening> {
  const peer = await listen(t, createTcpServer(onConnection))
  return { ...peer, url: `smtp://localhost:${peer.port}` }
}
