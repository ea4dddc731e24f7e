import { Abandoned, Refusal } from '../../model/refusal.ts'
import {
  type Database,
  LONG_TRANSACTION_MS,
  type LockName,
  type Reads,
  type Statement,
  type Transaction,
  type TransactionOptions,
  type Value,
} from '../database.ts'
import type { PostgresTarget } from '../database-target.ts'
import { answered } from './answered.ts'
import { type Client, type Connections, parseAddress, setTimeouts, type Tx } from './connections.ts'
import { isDoubtful, isLost, isOutage, isUnreached, isWrongServer } from './errors.ts'
import { createGathering } from './gathering.ts'
import { createOutageWatch, type OutageObserver } from './outage.ts'
import { createPool, type Pool } from './pool.ts'
import { asked, demandingPrimary, PREPARED, queries } from './queries.ts'
import { openReplica } from './replica.ts'
import type { PrimaryPosition } from './replica-lag.ts'
import { createTurns } from './turns.ts'

// For reads, and as many again for writes.
const MAX_CONNECTIONS = 6
const LOCKS: Record<LockName, number> = { admins: 7_214_001, 'signing-keys': 7_214_002, 'audit-chain': 7_214_003 }

export type DatabaseObserver = OutageObserver & {
  /** Called once when the replica cannot be used, and once when it can be used again. */
  readonly onReplicaAway?: (reason: string) => void
  readonly onReplicaBack?: () => void
}

const READ_POSITION = 'select pg_current_wal_lsn()::text as lsn, id as instance from instance'

export function openPostgres({ url, replicaUrl }: Omit<PostgresTarget, 'kind'>, observer: DatabaseObserver = {}): Database {
  const address = parseAddress(url)
  const preference = { hostIndex: 0 }
  const outage = createOutageWatch(observer)
  // Two pools, because all writes may be waiting for a lock or for a synchronous standby, and reads must not wait behind them.
  const reads = createPool(address, MAX_CONNECTIONS, preference)
  const writes = createPool(address, MAX_CONNECTIONS, preference)

  /** Runs the work within the deadline, on the preferred host or, where no connection can be opened, on the next one. */
  function trying<Result>(
    pool: Pool,
    work: (client: Client, requireTime: () => void) => PromiseLike<Result>,
    deadlineMs?: number,
  ): Promise<Result> {
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

  // A connection without a pooler was checked when it was opened.
  const readSql = address.isPooled ? demandingPrimary : (sql: string) => sql
  const ask: Ask = (client, statement, values) =>
    asked(client, statement.isRead ? { ...statement, sql: readSql(statement.sql) } : statement, values)
  const single = queries((statement, values) => trying(statement.isRead ? reads : writes, (client) => ask(client, statement, values)))
  const gather = createGathering((sql, values) => trying(reads, (client) => client.unsafe(readSql(sql), values, PREPARED).values()))

  const primary: Reads = {
    first: (statement, ...values) => (statement.hot ? gather(statement.hot, values) : single.first(statement, ...values)),
    all: single.all,
  }
  const takeTurn = createTurns()

  function transact<Result>(work: (tx: Transaction) => Promise<Result>, options: TransactionOptions): Promise<Result> {
    const { signal, onCommit, finalStatements, onCommitSent, isLong } = options
    const deadlineMs = isLong ? LONG_TRANSACTION_MS : undefined
    return trying(
      writes,
      async (client, requireTime) => {
        const requireClient = () => {
          if (signal?.aborted) throw new Abandoned()
          requireTime()
        }
        requireClient()
        const result = await client.begin((tx) =>
          unlessLost(() => within(tx, ask, work, requireClient, { finalStatements, onCommitSent, deadlineMs })),
        )
        // PostgreSQL answers a commit after a failed statement with a rollback, which is not an error to the driver.
        await result.final
        onCommit?.()
        return result.value
      },
      deadlineMs,
    )
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
    transaction: (work, options = {}) =>
      options.accountId === undefined ? transact(work, options) : takeTurn(options.accountId, () => transact(work, options)),
    close: async () => void (await Promise.all([reads.close(), writes.close(), replica?.close()])),
  }
}

type Ask = (client: Client | Tx, statement: Statement<unknown>, values: Value[]) => ReturnType<typeof asked>

type Closing = Pick<TransactionOptions, 'finalStatements' | 'onCommitSent'> & { readonly deadlineMs: number | undefined }

/** The result of the work, and the outcome of the final statements, which is awaited after the commit was sent. */
type Worked<Result> = { readonly value: Result; readonly final: Promise<unknown> }

async function within<Result>(
  tx: Tx,
  ask: Ask,
  work: (tx: Transaction) => Promise<Result>,
  requireClient: () => void,
  { finalStatements = () => [], onCommitSent, deadlineMs }: Closing,
): Promise<Worked<Result>> {
  requireClient()
  const inTime = <Result>(statement: () => PromiseLike<Result>) => answered(statement, { deadlineMs })
  const lock = async (name: LockName) => void (await inTime(() => tx.unsafe('select pg_advisory_xact_lock($1)', [LOCKS[name]], PREPARED)))
  if (deadlineMs !== undefined) await inTime(() => tx.unsafe(setTimeouts(deadlineMs)))
  const value = await work({ ...queries((statement, values) => inTime(() => ask(tx, statement, values))), lock })
  // A request that was answered with an error must not succeed afterwards.
  requireClient()
  const final = Promise.all(finalStatements().map(({ statement, values }) => inTime(() => ask(tx, statement, [...values]))))
  // If the commit fails too, nobody awaits this one.
  final.catch(() => undefined)
  onCommitSent?.()
  return { value, final }
}

/**
 * Never settles if the connection is lost. The driver notices the loss and rejects the transaction; if we rejected it too, the driver
 * would send its rollback over a connection that is gone, or over a new one.
 */
async function unlessLost<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (isLost(error)) await new Promise(() => undefined)
    throw error
  }
}
