import { connect, type Socket } from 'node:net'
import type { PostgresHost } from './url.ts'

export type Sockets = {
  /** For the `socket` option of the driver. */
  open(): Socket
  /** Closes all of them at once, without waiting for the server. */
  destroy(): void
}

/**
 * The sockets of one client. The driver closes a connection by sending a message and waiting for the server to hang up, so it would keep
 * every socket of a server that has fallen silent.
 */
export function createSockets({ host, port }: PostgresHost): Sockets {
  let opened: Socket[] = []
  return {
    open() {
      opened = opened.filter((socket) => !socket.destroyed)
      // The driver reads `host` for the server name of TLS.
      const socket = Object.assign(connect({ host, port }), { host })
      opened.push(socket)
      return socket
    },
    destroy() {
      for (const socket of opened) socket.destroy()
    },
  }
}
