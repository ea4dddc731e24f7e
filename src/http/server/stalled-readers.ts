import type { Server } from 'node:http'
import type { Socket } from 'node:net'

type Limits = { readonly stallTimeout: number; readonly connectionsCheckingInterval: number }

/**
 * Closes connections whose client sends requests but does not read the responses. Each would hold a file descriptor and a buffered
 * response forever. A slow reader keeps its connection, because Node restarts the socket timeout whenever a write makes progress. Any
 * received byte restarts it as well, so nothing is read from a client while a response is waiting to be sent.
 */
export function endStalledReaders(server: Server, { stallTimeout, connectionsCheckingInterval }: Limits): void {
  const sockets = new Set<Socket>()
  server.timeout = stallTimeout
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  // A periodic check of all sockets adds no cost to a request.
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writableNeedDrain && !socket.isPaused()) pauseUntilDrained(socket)
  }, connectionsCheckingInterval).unref()
  server.once('close', () => clearInterval(timer))
}

function pauseUntilDrained(socket: Socket): void {
  socket.pause()
  socket.once('drain', () => socket.resume())
}
