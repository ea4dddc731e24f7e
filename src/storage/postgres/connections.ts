import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, checkServerIdentity, getCACertificates } from 'node:tls'
import postgres from 'postgres'
import { codeOf } from '../../shared/errors.ts'
import { ADVICE_FOR_POOLERS, connectionError, NO_PRIMARY } from './errors.ts'
import { forDriver, type PostgresAddress, type PostgresHost, parsePostgresUrl } from './url.ts'

export type Client = postgres.Sql<{ bigint: number }>
export type Tx = postgres.TransactionSql<{ bigint: number }>

export type Connections = ReturnType<typeof openConnections>

/** Settings of the server for these connections, such as `statement_timeout`. */
export type ServerSettings = Readonly<Record<string, number>>

const CONNECT_TIMEOUT_S = 1.5
// The error of PgBouncer for a setting that it does not know.
const UNSUPPORTED = /^unsupported startup parameter/

export function parseAddress(url: string): PostgresAddress {
  const address = parsePostgresUrl(url)
  if (address === undefined) throw new Error('the URL of the PostgreSQL database is invalid')
  return address
}

/**
 * Up to `max` connections to one host, opened when they are needed. Unless they are for a replica, each is checked to lead to the primary
 * before it is used: a standby may lag behind, and would let in a user whom the primary has banned. Behind a pooler each statement is
 * checked instead, because the pooler may use another server for the next one.
 */
export function openConnections(address: PostgresAddress, hostIndex: number, max: number, settings: ServerSettings) {
  const host = address.hosts[hostIndex]
  if (host === undefined) throw new Error(`there is no host ${hostIndex}`)
  const sockets = createSockets(host)
  let isEnding = false
  const client: Client = postgres(forDriver(address.url), {
    // Not taken from the URL, where the driver splits an IPv6 address at its colons and does not decode the name of a database.
    host: host.host,
    port: host.port,
    database: address.database,
    ...(address.isReplica || address.isPooled ? {} : { target_session_attrs: 'primary' }),
    ssl: driverTls(address, host.host),
    ...{ socket: sockets.open },
    max,
    connect_timeout: CONNECT_TIMEOUT_S,
    // Short, so that the service notices the end of an outage soon.
    backoff: (retries) => Math.min(0.05 * 2 ** retries, 1),
    prepare: !address.isPooled,
    // No statement of the service runs long enough to be worth compiling; the planner would compile a search with many results.
    connection: { application_name: 'latchkey', ...(address.isPooled ? {} : { jit: 'off', ...settings }), TimeZone: 'UTC' },
    onnotice: () => undefined,
    fetch_types: false,
    // Ids and times are far below 2^53, so a JavaScript number is exact.
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  })

  /** Closes the connections at once, even with running statements. */
  async function destroy(): Promise<void> {
    isEnding = true
    await client.end({ timeout: 0 })
    sockets.destroy()
  }

  return {
    client,
    hostIndex,
    openedAt: performance.now(),
    /** Whether a statement has succeeded on one of them. */
    hasServed: false,
    /** Adds what an error leaves out: that the server is a standby, or a pooler. */
    explain(error: unknown): unknown {
      const place = `${host.host}:${host.port}`
      if (error instanceof Error && UNSUPPORTED.test(error.message))
        return connectionError('POOLER', `${place} is a connection pooler (${error.message}): ${ADVICE_FOR_POOLERS}`, error)
      // Unless we end it, the driver destroys a connection for one reason only: the server is not the primary.
      const isStandby = codeOf(error) === NO_PRIMARY || (!isEnding && codeOf(error) === 'CONNECTION_DESTROYED')
      if (!isStandby || address.isReplica) return error
      return connectionError('NOT_PRIMARY', `the server at ${place} is a standby; DATABASE_URL has to name the primary`, error)
    },
    destroy,
    /** Lets running statements end, for up to a second. */
    async close(): Promise<void> {
      isEnding = true
      await client.end({ timeout: 1 })
      await destroy()
    },
  }
}

/** An error on a standby. */
export const DEMAND_PRIMARY = 'select pg_current_wal_lsn()'

/** A process that was suspended, or a connection that was lost, in the middle of a transaction must not hold its locks. */
export const IDLE_IN_TRANSACTION_MS = 10_000
export const NO_TIMEOUT = 0

/** The first statement of a transaction that may take long. Behind a pooler, its role may have other timeouts. */
export function setTimeouts(statementMs: number, idleMs = IDLE_IN_TRANSACTION_MS): string {
  return `select set_config('statement_timeout', '${statementMs}', true), set_config('idle_in_transaction_session_timeout', '${idleMs}', true)`
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
      await connections.client.unsafe(DEMAND_PRIMARY)
      return connections
    } catch (error) {
      errors.push(connections.explain(error))
      await connections.destroy()
    }
  }
  // If several hosts are listed, standbys are expected, so the error of another host is the better explanation.
  throw errors.find((error) => codeOf(error) !== 'NOT_PRIMARY') ?? errors[0]
}

/**
 * The sockets of one client. The driver closes a connection by sending a message and waiting for the server to hang up, so it would keep
 * every socket of a server that has fallen silent.
 */
function createSockets({ host, port }: PostgresHost) {
  let opened: Socket[] = []
  return {
    /** For the `socket` option of the driver. */
    open(): Socket {
      opened = opened.filter((socket) => !socket.destroyed)
      // The driver reads `host` for the server name of TLS.
      const socket = Object.assign(connect({ host, port }), { host })
      opened.push(socket)
      return socket
    },
    /** Closes all of them at once, without waiting for the server. */
    destroy() {
      for (const socket of opened) socket.destroy()
    },
  }
}

/** The `ssl` option of the driver for one host. The driver requests TLS, and sends nothing else before the handshake has succeeded. */
function driverTls({ sslMode, rootCertificate }: PostgresAddress, host: string): false | 'prefer' | ConnectionOptions {
  switch (sslMode) {
    case 'disable':
      return false
    case 'prefer':
      return 'prefer'
    case 'require':
      return { rejectUnauthorized: false }
    case 'verify-ca':
      return { ...trusting(rootCertificate), checkServerIdentity: () => undefined }
    case 'verify-full':
      // Node compares the certificate of a server that is reached by its IP address with the name `localhost`.
      return { ...trusting(rootCertificate), checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate) }
  }
}

function trusting(rootCertificate: string | undefined): ConnectionOptions {
  if (rootCertificate === undefined) return {}
  if (rootCertificate === 'system') return { ca: getCACertificates('system') }
  try {
    return { ca: readFileSync(rootCertificate, 'utf8') }
  } catch (error) {
    throw connectionError('ROOT_CERTIFICATE', `sslrootcert: ${rootCertificate} cannot be read`, error)
  }
}
