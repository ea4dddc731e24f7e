import { Refusal } from '../../model/refusal.ts'
import type { Database, PostgresTarget, Reads } from '../database.ts'
import { type Client, type Connections, parseAddress } from './connections.ts'
import { isDoubtful, isLost, isOutage, isUnreached, isWrongServer } from './errors.ts'
import { createOutageWatch, createPool, type HostPreference, type OutageObserver, type OutageWatch, type Pool } from './pool.ts'
import { type AskOn, answered, asked, createLookUps, demandingPrimary, PREPARED, queries } from './queries.ts'
import { openReplica, type PrimaryPosition } from './replica.ts'
import { createTransactions } from './transactions.ts'
import type { PostgresAddress } from './url.ts'

// For reads, and as many again for writes.
const MAX_CONNECTIONS = 6

export type DatabaseObserver = OutageObserver & {
  /** Called once when the replica cannot be used, and once when it can be used again. */
  readonly onReplicaAway?: (reason: string) => void
  readonly onReplicaBack?: () => void
}

const READ_POSITION = 'select pg_current_wal_lsn()::text as lsn, id as instance from instance'

export function openPostgres({ url, replicaUrl }: Omit<PostgresTarget, 'kind'>, observer: DatabaseObserver = {}): Database {
  const address = parseAddress(url)
  const { reads, writes, trying, close } = openPools(address, createOutageWatch(observer))

  // A connection without a pooler was checked when it was opened.
  const readSql = address.isPooled ? demandingPrimary : (sql: string) => sql
  const ask: AskOn = (client, statement, values) =>
    asked(client, statement.isRead ? { ...statement, sql: readSql(statement.sql) } : statement, values)
  const single = queries((statement, values) => trying(statement.isRead ? reads : writes, (client) => ask(client, statement, values)))
  const lookUp = createLookUps((sql, values) => trying(reads, (client) => client.unsafe(readSql(sql), values, PREPARED).values()))

  const primary: Reads = {
    first: (statement, ...values) => (statement.hot ? lookUp(statement, statement.hot, values) : single.first(statement, ...values)),
    all: single.all,
  }

  async function readPosition(): Promise<PrimaryPosition> {
    const [position] = await trying(reads, (client) => client.unsafe<PrimaryPosition[]>(READ_POSITION, [], PREPARED))
    if (position === undefined) throw new Refusal('unavailable', 'the primary did not report its position')
    return position
  }

  const { onReplicaAway: onOutage, onReplicaBack: onRecovery } = observer
  const replica =
    replicaUrl === undefined ? undefined : openReplica({ url: replicaUrl, primary, readPosition, observer: { onOutage, onRecovery } })

  return {
    ...single,
    lists: replica ?? primary,
    first: primary.first,
    transaction: createTransactions((work, deadlineMs) => trying(writes, work, deadlineMs), ask),
    close: async () => void (await Promise.all([close(), replica?.close()])),
  }
}

type Work<Result> = (client: Client, requireTime: () => void) => PromiseLike<Result>

/** Connections for reads and for writes, which leave a host that is gone together. */
function openPools(address: PostgresAddress, outage: OutageWatch) {
  const preference: HostPreference = { hostIndex: 0 }
  // Two pools, because all writes may be waiting for a lock or for a synchronous standby, and reads must not wait behind them.
  const reads = createPool(address, MAX_CONNECTIONS, preference)
  const writes = createPool(address, MAX_CONNECTIONS, preference)

  /** Runs the work within the deadline, on the preferred host or, where no connection can be opened, on the next one. */
  function trying<Result>(pool: Pool, work: Work<Result>, deadlineMs?: number): Promise<Result> {
    let used: Connections | undefined
    async function attempt(requireTime: () => void): Promise<Result> {
      for (let tries = 1; ; tries++) {
        used = pool.connections()
        try {
          const result = await work(used.client, requireTime)
          used.hasServed = true
          outage.succeeded()
          return result
        } catch (error) {
          const reason = used.explain(error)
          if (!isUnreached(reason) || tries >= address.hosts.length) throw reason
          pool.leaveHost(used)
        }
      }
    }
    return answered(attempt, {
      deadlineMs,
      onError(error) {
        if (error instanceof Refusal && isOutage(error)) outage.failed(error.message)
        if (used !== undefined && isDoubtful(error)) abandon(pool, used, error)
      },
    })
  }

  /** Later work uses new connections, and the next host where this one is gone. */
  function abandon(pool: Pool, used: Connections, error: unknown): void {
    // A host that closes every connection cleanly makes the driver reconnect until the deadline, and never serves.
    if (isLost(error) || isWrongServer(error) || !used.hasServed) pool.leaveHost(used)
    pool.replace(used)
    // Only a write notices that its server has become read-only, but reads must not stay on that server either.
    if (isWrongServer(error)) for (const other of [reads, writes]) other.replaceHost(used.hostIndex)
  }

  return { reads, writes, trying, close: () => Promise.all([reads.close(), writes.close()]) }
}
