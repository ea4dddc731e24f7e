import type { Server } from 'node:http'
import type { Socket } from 'node:net'

type Limits = { readonly stallTimeout: number; readonly connectionsCheckingInterval: number }

/**
 * Closes connections whose client requests and then does not read: each would hold a descriptor, and the rest of its answer, for ever.
 * A client that reads slowly keeps its connection: Node's socket timeout sees that a write makes progress. But any byte that arrives
 * restarts that timeout, so nothing is read from a client while an answer waits for it.
 */
export function endStalledReaders(server: Server, { stallTimeout, connectionsCheckingInterval }: Limits): void {
  const sockets = new Set<Socket>()
  server.timeout = stallTimeout
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  // Looking at all sockets from time to time costs a request nothing.
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writableNeedDrain && !socket.isPaused()) pauseUntilDrained(socket)
  }, connectionsCheckingInterval).unref()
  server.once('close', () => clearInterval(timer))
}

function pauseUntilDrained(socket: Socket): void {
  socket.pause()
  socket.once('drain', () => socket.resume())
}
