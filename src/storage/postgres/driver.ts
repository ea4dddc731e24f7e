import type postgres from 'postgres'
import { Abandoned, Refusal } from '../../model/refusal.ts'
import type { Database, LockName, Queries, Statement, Transaction, Value } from '../database.ts'
import {
  type AppliedMigration,
  CREATE_HISTORY,
  MIGRATIONS_FOLDER,
  type Migration,
  pendingMigrations,
  READ_HISTORY,
  readMigrations,
} from '../migrations.ts'
import { isDoubtful, isLost, isMisplaced, translate } from './errors.ts'
import { createGathering } from './gathering.ts'
import { type Client, createPool, openConnections, type Pool } from './pool.ts'

// Of one statement or transaction, whatever state the database is in. A request has a limit of its own.
const ANSWER_DEADLINE_MS = 2000
// For reads, and as many for writes.
const MAX_CONNECTIONS = 6
// By then everyone who waited for a connection that is given up has been answered.
const GRACE_MS = 3000
const MIGRATION_LOCK = 7_214_000
const LOCKS: Record<LockName, number> = { admins: 7_214_001 }

type Connection = postgres.TransactionSql<{ bigint: number }>

/** Applies what is missing, in one transaction under a lock that all processes share. */
export async function migratePostgres(url: string, folder = `${MIGRATIONS_FOLDER}/postgres`): Promise<Migration[]> {
  const { client, destroy } = openConnections(url, 1, { statement_timeout: 0 })
  try {
    return await client.begin(async (tx) => {
      await requireUtf8(tx)
      await tx.unsafe('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
      await tx.unsafe(CREATE_HISTORY)
      const applied = await tx.unsafe<AppliedMigration[]>(READ_HISTORY)
      const pending = pendingMigrations(readMigrations(folder), applied)
      for (const { name, sql, checksum } of pending) {
        await tx.unsafe(sql).simple()
        await tx.unsafe('insert into schema_migrations (name, checksum, applied_at) values ($1, $2, $3)', [name, checksum, Date.now()])
      }
      return pending
    })
  } finally {
    await client.end({ timeout: 1 })
    await destroy()
  }
}

/** Elsewhere a name that the database has no letters for would be refused, or kept as bytes, one request at a time. */
async function requireUtf8(tx: Connection): Promise<void> {
  const [row] = await tx.unsafe<{ server_encoding: string }[]>('show server_encoding')
  if (row?.server_encoding === 'UTF8') return
  throw new Error(`its encoding is ${row?.server_encoding} and should be UTF8: create it with encoding 'UTF8' template template0`)
}

export function openPostgres(url: string): Database {
  // Writes may all be waiting, for a lock or for a standby. No read waits behind them.
  const preference = { hostIndex: 0 }
  const reads = createPool(url, MAX_CONNECTIONS, GRACE_MS, preference)
  const writes = createPool(url, MAX_CONNECTIONS, GRACE_MS, preference)

  /** Tells the pool of a fault that is the connection's. */
  function trying<Result>(pool: Pool, work: (client: Client, requireTime: () => void) => PromiseLike<Result>): Promise<Result> {
    const client = pool.client()
    return answered(
      (requireTime) => work(client, requireTime),
      (error) => {
        if (!isDoubtful(error)) return
        pool.distrust(client)
        // A server that is no longer the primary is felt by writes alone, and is no place for reads either.
        if (isMisplaced(error)) for (const other of [reads, writes]) other.distrust(other.client())
      },
    )
  }

  const single = queries((statement, values) => trying(statement.isRead ? reads : writes, (client) => asked(client, statement, values)))
  const gather = createGathering((sql, values) => trying(reads, (client) => client.unsafe(sql, values, PREPARED).values()))

  return {
    ...single,
    first: (statement, ...values) => (statement.hot ? gather(statement.hot, values) : single.first(statement, ...values)),
    transaction: (work, { signal, onCommit } = {}) =>
      trying(writes, async (client, requireTime) => {
        const requireNeed = () => {
          if (signal?.aborted) throw new Abandoned()
          requireTime()
        }
        const result = await client.begin(async (tx) => ({ value: await unlessLost(() => within(tx, work, requireNeed)) }))
        onCommit?.()
        return result.value
      }),
    close: async () => void (await Promise.all([reads.close(), writes.close()])),
  }
}

async function within<Result>(tx: Connection, work: (tx: Transaction) => Promise<Result>, requireNeed: () => void): Promise<Result> {
  requireNeed()
  const lock = async (name: LockName) => void (await answered(() => tx.unsafe('select pg_advisory_xact_lock($1)', [LOCKS[name]], PREPARED)))
  const value = await work({ ...queries((statement, values) => answered(() => asked(tx, statement, values))), lock })
  // Who has been told that it failed must not find later that it happened.
  requireNeed()
  return value
}

const PREPARED = { prepare: true }
const PLANNED_EACH_TIME = { prepare: false }

type Rows = unknown[] & { readonly count: number }
type Ask = (statement: Statement<unknown>, values: Value[]) => Promise<Rows>

/** How best to read long depends on the values: a term that few have is looked up, one that most have is met on the way through all. */
function asked(client: Client | Connection, { sql, hot, isLong }: Statement<unknown>, values: Value[]): PromiseLike<Rows> {
  const query = client.unsafe(sql, values, isLong ? PLANNED_EACH_TIME : PREPARED)
  return hot ? query.values() : query
}

function queries(ask: Ask): Queries {
  return {
    // A row has the shape that the statement's type declares; the tests of each repository hold the two together.
    first: async <Row>(statement: Statement<Row>, ...values: Value[]) => {
      const [found] = await ask(statement, values)
      return found === undefined ? undefined : rowOf(statement, found)
    },
    // Taken out of the driver's own list: something keeps that one until a full garbage collection, and a long list of users makes many.
    all: async <Row>(statement: Statement<Row>, ...values: Value[]) =>
      (await ask(statement, values)).splice(0).map((row) => rowOf(statement, row)),
    run: async (statement, ...values) => (await ask(statement, values)).count,
  }
}

function rowOf<Row>({ hot }: Statement<Row>, found: unknown): Row {
  return hot ? hot.read(found as unknown[]) : (found as Row)
}

/**
 * Never ends where the connection is lost. The driver hears of the loss by itself and ends the transaction; told by us as well, it
 * would send its rollback over a connection that is gone, or is a new one already.
 */
async function unlessLost<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (isLost(error)) await new Promise(() => undefined)
    throw error
  }
}

/** Ends the wait, though not the work, at the deadline, and turns what went wrong into words that the layers above know. */
function answered<Result>(
  work: (requireTime: () => void) => PromiseLike<Result>,
  onFault: (error: unknown) => void = () => undefined,
): Promise<Result> {
  const late = () => new Refusal('unavailable', `PostgreSQL gave no answer within ${ANSWER_DEADLINE_MS} ms`)
  return new Promise((resolve, reject) => {
    let isLate = false
    function fail(error: unknown): void {
      clearTimeout(timer)
      reject(error)
      onFault(error)
    }
    const timer = setTimeout(() => {
      isLate = true
      fail(late())
    }, ANSWER_DEADLINE_MS)
    const requireTime = () => {
      if (isLate) throw late()
    }
    work(requireTime).then(
      (result) => {
        clearTimeout(timer)
        resolve(result)
      },
      (error) => {
        if (!isLate) fail(translate(error))
      },
    )
  })
}
