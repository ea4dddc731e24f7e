import type { Server } from 'node:http'
import type { Socket } from 'node:net'

type Limits = { readonly stallTimeout: number; readonly connectionsCheckingInterval: number }
type Progress = { readonly takenBytes: number; readonly idleLooks: number }

// The counters of the operating system's side of a socket. Node keeps them there, and does not declare them.
type CountingSocket = Socket & { readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null }

const NO_PROGRESS: Progress = { takenBytes: 0, idleLooks: 0 }

/**
 * Ends connections whose client asks and then does not read: each would hold a descriptor, and what is left of its answer, for ever. One
 * that reads slowly is let be. A look at all of them now and then costs a request nothing.
 */
export function endStalledReaders(server: Server, { stallTimeout, connectionsCheckingInterval }: Limits): void {
  const progressBySocket = new Map<CountingSocket, Progress>()
  // Looks are counted, not time: a process that was held up itself must not blame its clients.
  const maxIdleLooks = Math.ceil(stallTimeout / connectionsCheckingInterval)

  function look(): void {
    for (const [socket, last] of progressBySocket) {
      const { bytesWritten = 0, writeQueueSize = 0 } = socket._handle ?? {}
      // What was given to the socket, but for what the operating system has not taken yet.
      const takenBytes = bytesWritten - writeQueueSize
      const isIdle = writeQueueSize > 0 && takenBytes === last.takenBytes
      if (isIdle && last.idleLooks + 1 >= maxIdleLooks) socket.destroy()
      else progressBySocket.set(socket, { takenBytes, idleLooks: isIdle ? last.idleLooks + 1 : 0 })
    }
  }

  server.on('connection', (socket: CountingSocket) => {
    progressBySocket.set(socket, NO_PROGRESS)
    socket.once('close', () => progressBySocket.delete(socket))
  })
  const timer = setInterval(look, connectionsCheckingInterval).unref()
  server.once('close', () => clearInterval(timer))
}
