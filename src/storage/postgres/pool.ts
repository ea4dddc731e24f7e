import { type Connections, IDLE_IN_TRANSACTION_MS, openConnections } from './connections.ts'
import type { PostgresAddress } from './url.ts'

/** The host that served last. All pools of a process share it. */
export type HostPreference = { hostIndex: number }

export type Pool = ReturnType<typeof createPool>

const STATEMENT_TIMEOUT_MS = 5000
const SETTINGS = { statement_timeout: STATEMENT_TIMEOUT_MS, idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS }
// During an outage every request fails; replacing the connections twice a second is enough to notice its end.
const MIN_AGE_MS = 500
// Longer than the deadline, so that every statement on a replaced connection has been answered.
const GRACE_MS = 3000

/**
 * Connections that are replaced as soon as one of them fails: one on which no answer arrives would block every statement that is sent over
 * it. Running statements of the replaced connections may finish within three seconds. The next replacement waits until then, so that there
 * are at most twice `max` connections: a server accepts only so many.
 */
export function createPool(address: PostgresAddress, max: number, preference: HostPreference) {
  const current = new Map<number, Connections>()
  let isClosed = false
  let retired: Connections | undefined

  function open(hostIndex: number): Connections {
    const opened = openConnections(address, hostIndex, max, SETTINGS)
    current.set(hostIndex, opened)
    return opened
  }

  /** One of these connections was lost, or did not answer: later work uses new connections. */
  function replace(stale: Connections): void {
    const isCurrent = current.get(stale.hostIndex) === stale
    if (isClosed || !isCurrent || retired !== undefined || performance.now() - stale.openedAt < MIN_AGE_MS) return
    try {
      open(stale.hostIndex)
    } catch {
      // For example, the root certificate was removed. The old connections stay in use, and the next error tries again.
      return
    }
    retired = stale
    setTimeout(() => {
      retired = undefined
      void stale.destroy()
    }, GRACE_MS).unref()
  }

  // Opened now, so that an unreadable root certificate stops the start.
  open(preference.hostIndex)

  return {
    connections: () => current.get(preference.hostIndex) ?? open(preference.hostIndex),
    /** These connections cannot be opened, or their server cannot serve: later work prefers the next host. */
    leaveHost({ hostIndex }: Connections) {
      if (preference.hostIndex === hostIndex) preference.hostIndex = (hostIndex + 1) % address.hosts.length
    },
    replace,
    /** Replaces the connections to one host, if there are any. */
    replaceHost(hostIndex: number) {
      const stale = current.get(hostIndex)
      if (stale !== undefined) replace(stale)
    },
    async close() {
      isClosed = true
      await Promise.all([...[...current.values()].map((connections) => connections.close()), retired?.destroy()])
    },
  }
}

/** Called once when an outage begins, and once when it ends. */
export type OutageObserver = {
  readonly onOutage?: ((reason: string) => void) | undefined
  readonly onRecovery?: ((outageMs: number) => void) | undefined
}

export type OutageWatch = ReturnType<typeof createOutageWatch>

export function createOutageWatch({ onOutage, onRecovery }: OutageObserver) {
  let begunAt: number | undefined
  return {
    failed(reason: string) {
      if (begunAt !== undefined) return
      begunAt = performance.now()
      onOutage?.(reason)
    },
    succeeded() {
      if (begunAt === undefined) return
      const outageMs = performance.now() - begunAt
      begunAt = undefined
      onRecovery?.(outageMs)
    },
  }
}
