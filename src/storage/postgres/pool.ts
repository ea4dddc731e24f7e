import postgres from 'postgres'
import { createSockets, type HostPreference, type Sockets } from './sockets.ts'
import { forDriver, type PostgresAddress, parsePostgresUrl } from './url.ts'

export type Client = postgres.Sql<{ bigint: number }>

export type Pool = {
  client(): Client
  /** Says that a connection of this client failed, or gave no answer. What is new goes through fresh connections from now on. */
  distrust(client: Client): void
  close(): Promise<void>
}

type Connections = { readonly client: Client; readonly sockets: Sockets; readonly bornAt: number; destroy(): Promise<void> }

const CONNECT_TIMEOUT_S = 1.5
const STATEMENT_TIMEOUT_MS = 5000
// A connection that was lost in the middle of a transaction must not hold its locks.
const IDLE_IN_TRANSACTION_MS = 10_000
// While the database is away every request finds a fault; replacing the connections twice a second is enough to see its return.
const MIN_AGE_MS = 500

/**
 * Connections that are replaced as soon as one of them is in doubt: one on which nothing comes back would hold up whatever is sent
 * over it. What is under way in the others may finish until `graceMs` have passed, by when everyone has an answer. Not before
 * then are the next ones replaced, so that there are twice `max` at most: a server has only so many places.
 */
export function createPool(url: string, max: number, graceMs: number, preference: HostPreference): Pool {
  const settings = { statement_timeout: STATEMENT_TIMEOUT_MS, idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS }
  const open = () => openConnections(url, max, settings, preference)
  let current = open()
  let isClosed = false
  let retired: Connections | undefined

  return {
    client: () => current.client,
    distrust(client) {
      const stale = current
      if (isClosed || stale.client !== client || performance.now() - stale.bornAt < MIN_AGE_MS) return
      stale.sockets.reconsider()
      if (retired) return
      try {
        current = open()
      } catch {
        // Such as a root certificate that has been taken away: the connections that were made with it go on, and the next fault tries again.
        return
      }
      retired = stale
      setTimeout(() => {
        retired = undefined
        void stale.destroy()
      }, graceMs).unref()
    },
    async close() {
      isClosed = true
      await current.client.end({ timeout: 1 })
      await Promise.all([current.destroy(), retired?.destroy()])
    },
  }
}

/** Up to `max` connections, made when they are needed, with these settings of the server. */
export function openConnections(
  url: string,
  max: number,
  settings: Readonly<Record<string, number>>,
  preference: HostPreference = { hostIndex: 0 },
): Connections {
  const address = parsePostgresUrl(url)
  if (address === undefined) throw new Error('the address of the PostgreSQL database is not well formed')
  const sockets = createSockets(address, preference)
  const client: Client = postgres(forDriver(url), {
    ...destination(address),
    // The sockets see to it.
    ssl: false,
    ...{ socket: sockets.open },
    max,
    connect_timeout: CONNECT_TIMEOUT_S,
    // An outage must not make the service wait longer than itself to see that it is over.
    backoff: (retries) => Math.min(0.05 * 2 ** retries, 1),
    // No statement of the service runs long enough to be worth compiling; the planner thinks otherwise of a search for what many have.
    connection: { application_name: 'latchkey', jit: false, ...settings, TimeZone: 'UTC' },
    onnotice: () => undefined,
    fetch_types: false,
    // Ids and times are far below 2^53, where a JavaScript number is exact.
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  })
  return {
    client,
    sockets,
    bornAt: performance.now(),
    async destroy() {
      await client.end({ timeout: 0 })
      sockets.destroy()
    },
  }
}

/**
 * Given apart from the URL, because the driver takes an IPv6 address apart at its colons and does not decode the name of a database.
 * Where there are several hosts, a standby is passed over: the service writes.
 */
function destination({ hosts, database, isPrimaryOnly }: PostgresAddress): { database: string } {
  const lists = { host: hosts.map(({ host }) => host), port: hosts.map(({ port }) => port) }
  // The driver calls `read-write` what may still be a standby; `primary` is what is meant.
  const attributes = isPrimaryOnly ? { target_session_attrs: 'primary' } : {}
  // The driver takes lists, and documents them; the type of its options leaves them out.
  return { database, ...lists, ...attributes }
}
