import { connect, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { untilEvent } from './socket-events.ts'
import { createSecured } from './tls.ts'
import type { PostgresAddress } from './url.ts'

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
export function createSockets(address: PostgresAddress, preference: HostPreference): Sockets {
  const { hosts } = address
  const secured = createSecured(address)
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
    let outcome: Socket | Error = fault('the connections to PostgreSQL are closed', 'CONNECTION_CLOSED')
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
    // Under TLS nobody else listens for what fails below it.
    const socket = connect({ host, port }).on('error', () => undefined)
    opened.push({ socket, hostIndex })
    const timer = setTimeout(() => socket.destroy(fault('no connection in time', 'CONNECT_TIMEOUT')), CONNECT_TIMEOUT_MS)
    try {
      await untilEvent(socket, 'connect', () => true)
      return await secured(socket, host)
    } catch (error) {
      return unusable(socket.destroy().errored ?? error)
    } finally {
      clearTimeout(timer)
    }
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

/** Whatever keeps a connection from being made has a code: that tells it from a mistake of our own, which is a 500. */
function unusable(error: unknown): Error {
  if (!(error instanceof Error)) return fault(String(error), 'CONNECTION_FAILED')
  return 'code' in error ? error : Object.assign(error, { code: 'CONNECTION_FAILED' })
}

function fault(message: string, code: string): Error {
  return Object.assign(new Error(message), { code })
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
