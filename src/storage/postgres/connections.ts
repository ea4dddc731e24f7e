import postgres from 'postgres'
import { codeOf, connectionError } from './errors.ts'
import { createSockets } from './sockets.ts'
import { driverTls } from './tls.ts'
import { forDriver, type PostgresAddress, parsePostgresUrl } from './url.ts'

export type Client = postgres.Sql<{ bigint: number }>
export type Tx = postgres.TransactionSql<{ bigint: number }>

/** The connections to one host. */
export type Connections = {
  readonly client: Client
  readonly hostIndex: number
  readonly openedAt: number
  /** Whether a statement has succeeded on one of them. */
  hasServed: boolean
  /** Adds what the driver leaves out of an error: that the server is a standby. */
  explain(error: unknown): unknown
  /** Closes the connections at once, even with running statements. */
  destroy(): Promise<void>
  /** Lets running statements end, for up to a second. */
  close(): Promise<void>
}

/** Settings of the server for these connections, such as `statement_timeout`. */
export type ServerSettings = Readonly<Record<string, number>>

const CONNECT_TIMEOUT_S = 1.5

export function parseAddress(url: string): PostgresAddress {
  const address = parsePostgresUrl(url)
  if (address === undefined) throw new Error('the URL of the PostgreSQL database is invalid')
  return address
}

/**
 * Up to `max` connections to one host, opened when they are needed. Unless they are for a replica, each is checked to lead to the primary
 * before it is used: a standby may lag behind, and would let in a user whom the primary has banned.
 */
export function openConnections(address: PostgresAddress, hostIndex: number, max: number, settings: ServerSettings): Connections {
  const host = address.hosts[hostIndex]
  if (host === undefined) throw new Error(`there is no host ${hostIndex}`)
  const sockets = createSockets(host)
  let isEnding = false
  const client: Client = postgres(forDriver(address.url), {
    // Not taken from the URL, where the driver splits an IPv6 address at its colons and does not decode the name of a database.
    host: host.host,
    port: host.port,
    database: address.database,
    ...(address.isReplica ? {} : { target_session_attrs: 'primary' }),
    ssl: driverTls(address, host.host),
    ...{ socket: sockets.open },
    max,
    connect_timeout: CONNECT_TIMEOUT_S,
    // Short, so that the service notices the end of an outage soon.
    backoff: (retries) => Math.min(0.05 * 2 ** retries, 1),
    // No statement of the service runs long enough to be worth compiling; the planner would compile a search with many results.
    connection: { application_name: 'latchkey', jit: false, ...settings, TimeZone: 'UTC' },
    onnotice: () => undefined,
    fetch_types: false,
    // Ids and times are far below 2^53, so a JavaScript number is exact.
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  })

  async function destroy(): Promise<void> {
    isEnding = true
    await client.end({ timeout: 0 })
    sockets.destroy()
  }

  return {
    client,
    hostIndex,
    openedAt: performance.now(),
    hasServed: false,
    explain(error) {
      // Unless we end it, the driver destroys a connection for one reason only: the server is not the primary.
      if (isEnding || codeOf(error) !== 'CONNECTION_DESTROYED') return error
      const place = `${host.host}:${host.port}`
      return connectionError('NOT_PRIMARY', `the server at ${place} is a standby; DATABASE_URL has to name the primary`, error)
    },
    destroy,
    async close() {
      isEnding = true
      await client.end({ timeout: 1 })
      await destroy()
    },
  }
}

/** Runs the work on a separate connection to the first host that is the primary. */
export async function withConnection<Result>(
  url: string,
  settings: ServerSettings,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const connections = await connectToPrimary(parseAddress(url), settings)
  try {
    return await work(connections.client)
  } finally {
    await connections.close()
  }
}

async function connectToPrimary(address: PostgresAddress, settings: ServerSettings): Promise<Connections> {
  const errors: unknown[] = []
  for (const hostIndex of address.hosts.keys()) {
    const connections = openConnections(address, hostIndex, 1, settings)
    try {
      await connections.client`select 1`
      return connections
    } catch (error) {
      errors.push(connections.explain(error))
      await connections.destroy()
    }
  }
  // If several hosts are listed, standbys are expected, so the error of another host is the better explanation.
  throw errors.find((error) => codeOf(error) !== 'NOT_PRIMARY') ?? errors[0]
}
