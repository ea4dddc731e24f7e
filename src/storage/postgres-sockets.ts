import { connect, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresAddress } from './postgres-url.ts'

/** Which host served last: known to all pools of a process, whose connections come and go. */
export type HostPreference = { hostIndex: number }

export type Sockets = {
  /** A socket to the host that served last or, where that one turns away, to the next. The driver hears of failures from the socket. */
  open(): Promise<Socket>
  /** Takes note of connections that have ended, which speaks against their host until another has been tried. True when there are any. */
  reconsider(): boolean
  /** Closes all of them at once, and lets no other be opened. */
  destroy(): void
}

type Opened = { readonly socket: Socket; readonly hostIndex: number }

// A host that closes a connection is not asked again at once: while a standby is made the primary, nobody serves for some seconds.
const PAUSE_MS = 100
const CONNECT_TIMEOUT_MS = 1000

/** The connections of one pool. The driver alone would keep sockets for ever on which nothing comes back, and hosts in turn. */
export function createSockets({ hosts }: PostgresAddress, preference: HostPreference): Sockets {
  let opened: Opened[] = []
  let isDestroyed = false

  function reconsider(): boolean {
    const ended = opened.filter(({ socket }) => socket.destroyed)
    opened = opened.filter(({ socket }) => !socket.destroyed)
    if (ended.some(({ hostIndex }) => hostIndex === preference.hostIndex)) preference.hostIndex = after(preference.hostIndex)
    return ended.length > 0
  }

  function after(hostIndex: number): number {
    return (hostIndex + 1) % hosts.length
  }

  async function openAny(): Promise<Socket | Error> {
    let outcome: Socket | Error = new Error('the connections to PostgreSQL are closed')
    let { hostIndex } = preference
    for (let tries = 0; tries < hosts.length && !isDestroyed; tries++, hostIndex = after(hostIndex)) {
      outcome = await tryHost(hostIndex)
      if (!(outcome instanceof Error)) return outcome
      if (preference.hostIndex === hostIndex) preference.hostIndex = after(hostIndex)
    }
    return outcome
  }

  async function tryHost(hostIndex: number): Promise<Socket | Error> {
    const { host, port } = hosts[hostIndex] ?? { host: 'localhost', port: 0 }
    // The driver looks here for the name that a certificate has to carry.
    const socket = Object.assign(connect({ host, port }), { host })
    opened.push({ socket, hostIndex })
    return new Promise((resolve) => {
      const timer = setTimeout(() => socket.destroy(new Error('no connection in time')), CONNECT_TIMEOUT_MS)
      const settle = (outcome: Socket | Error) => {
        clearTimeout(timer)
        socket.off('error', settle).off('connect', onConnect)
        resolve(outcome)
      }
      const onConnect = () => settle(socket)
      socket.once('error', settle).once('connect', onConnect)
    })
  }

  return {
    async open() {
      if (reconsider()) await sleep(PAUSE_MS)
      const outcome = await openAny()
      return outcome instanceof Error ? failing(outcome) : outcome
    },
    reconsider,
    destroy() {
      isDestroyed = true
      for (const { socket } of opened) socket.destroy()
    },
  }
}

/**
 * A socket that fails when it is first written to: that is how the driver hears of a failure, and tries again later. A rejection,
 * or a failure before its first write, would leave the connection unusable for ever.
 */
function failing(error: Error): Socket {
  const socket = new Socket()
  socket.write = () => {
    socket.destroy(error)
    return true
  }
  return socket
}
