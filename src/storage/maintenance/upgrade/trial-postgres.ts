import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { codeOf } from '../../../shared/errors.ts'
import { CREATE_HISTORY, HISTORY_EXISTS, type Migration, planMigrations, READ_HISTORY } from '../../migrations.ts'
import { type Client, NO_TIMEOUT, setTimeouts, type Tx, withConnection } from '../../postgres/connections.ts'
import { LOCK_NOT_AVAILABLE } from '../../postgres/errors.ts'
import { applyMigration, requireUsable } from '../../postgres/migrations.ts'
import { rollingBack } from '../schema.ts'
import {
  type Blocks,
  BY_STRENGTH,
  NOTHING_TRIED,
  type Stop,
  type Trial,
  TrialError,
  type TrialOptions,
  type TrialSize,
  type Wait,
} from './trial.ts'

const QUERY_CANCELED = '57014'
// Requests queue behind a migration that waits for a lock.
const LOCK_TIMEOUT_MS = 500
const LOOK_TIMEOUT_MS = 5000
// PostgreSQL reports locks to nobody: a connection that wants to know when one was taken has to look. Times are at most this much too long.
const LOOK_EVERY_MS = 20
const SIZES = `
  select coalesce(sum(pg_table_size(oid)), 0)::bigint as tables, coalesce(sum(pg_indexes_size(oid)), 0)::bigint as indexes,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as written
  from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')`
const BLOCKS: Readonly<Record<string, Blocks>> = {
  AccessExclusiveLock: 'reads and writes',
  ExclusiveLock: 'writes',
  ShareRowExclusiveLock: 'writes',
  ShareLock: 'writes',
  // Which rows are changed is not visible from outside; a login changes its user.
  RowExclusiveLock: 'changes of the same rows',
}
// Seen from another connection, a table that the migration creates does not exist, so these are the tables that requests use. They do not
// use the history of migrations.
const READ_LOCKS = `
  select pg_class.relname::text as table, pg_locks.mode, pg_locks.granted, (
    select format('%s (process %s of PostgreSQL), in a transaction that began %s seconds ago', coalesce(nullif(application_name, ''), backend_type),
      pid, round(extract(epoch from clock_timestamp() - xact_start)))
    from pg_stat_activity where not granted and pid = any (pg_blocking_pids($1)) order by xact_start limit 1) as user
  from pg_locks join pg_class on pg_class.oid = pg_locks.relation
  where pg_locks.pid = $1 and pg_locks.locktype = 'relation' and pg_class.relkind in ('r', 'p')
    and pg_class.relname <> 'schema_migrations' and pg_class.relnamespace = current_schema()::regnamespace`

/** The sizes of all tables and indexes, and how much the server has written to its write-ahead log since it was created. */
type Sizes = Readonly<Record<'tables' | 'indexes' | 'written', number>>
type Server = { readonly pid: number; readonly version: number }
/** `user`: who has the lock, if it is not granted. */
type LockRow = { readonly table: string; readonly mode: string; readonly granted: boolean; readonly user: string | null }

/** Applies the migrations in a transaction that is rolled back, while another connection looks at its locks. */
export function tryOnPostgres(url: string, options: TrialOptions): Promise<Trial> {
  return withConnection(url, {}, (client) =>
    withConnection(url, { statement_timeout: LOOK_TIMEOUT_MS }, async (observer) => {
      const isMigrated = (await observer.unsafe(HISTORY_EXISTS.postgres)).length > 0
      const plan = planMigrations('postgres', isMigrated ? await observer.unsafe(READ_HISTORY) : [], options.folder)
      const { newer } = plan
      const pending = plan.pending.map(({ name }) => name)
      if (pending.length > 0) return { pending, newer, ...(await applyAndRollBack(client, observer, plan.pending, options)) }
      const current = await sizes(observer)
      return { ...NOTHING_TRIED, pending, newer, size: sizeBetween(current, current) }
    }),
  )
}

type Applied = Omit<Trial, 'pending' | 'newer'>

async function applyAndRollBack(
  client: Client,
  observer: Client,
  migrations: readonly Migration[],
  { maxWaitMs, check }: TrialOptions,
): Promise<Applied> {
  const taken = new Map<string, { readonly table: string; readonly blocks: Blocks; readonly at: number }>()
  let obstacle = 'a table is in use by another transaction'
  /** Why the trial ends early: the user has interrupted it, or the locks cannot be read. */
  let interruption: unknown

  async function readLocks(pid: number, previousAt: number): Promise<void> {
    for (const { table, mode, granted, user } of await observer.unsafe<LockRow[]>(READ_LOCKS, [pid])) {
      const blocks = BLOCKS[mode]
      if (!granted && user !== null) obstacle = `${table} is in use by ${user}`
      // It was not there at the previous look, so it was not taken earlier.
      if (granted && blocks !== undefined && !taken.has(table + blocks)) taken.set(table + blocks, { table, blocks, at: previousAt })
    }
  }

  /** Whether requests have waited for long enough, or the user for too long. */
  function isOver(): boolean {
    try {
      check()
    } catch (error) {
      interruption ??= error
    }
    const waitedMs = performance.now() - Math.min(...[...taken.values()].map(({ at }) => at))
    return interruption !== undefined || waitedMs > maxWaitMs
  }

  /** Applies a migration while the other connection looks at its locks. Returns false if it was canceled. */
  async function finishes(tx: Tx, pid: number, migration: Migration): Promise<boolean> {
    let isApplying = true
    let isCanceled = false
    const applying = Promise.allSettled([tx.savepoint((inner) => applyMigration(inner, migration))]).finally(() => {
      isApplying = false
    })
    try {
      for (let lookedAt = performance.now(), previousAt = lookedAt; isApplying; previousAt = lookedAt) {
        await Promise.race([applying, sleep(LOOK_EVERY_MS)])
        lookedAt = performance.now()
        await readLocks(pid, previousAt)
        if (!isOver() || !isApplying) continue
        isCanceled = true
        // Repeated at each look, because PostgreSQL ignores it between two statements.
        await observer.unsafe('select pg_cancel_backend($1)', [pid])
      }
    } catch (error) {
      interruption ??= new TrialError(
        `the locks could not be watched, so the trial was ended: ${error instanceof Error ? error.message : String(error)}. Nothing was changed; try again`,
      )
      // Nobody else would stop the trial. The server rolls back a transaction whose connection is closed.
      await client.end({ timeout: 0 })
      throw interruption
    }
    const [result] = await applying
    if (result.status === 'rejected' && !(isCanceled && codeOf(result.reason) === QUERY_CANCELED)) throw result.reason
    // It may have ended before the cancellation arrived. What follows must not be canceled instead.
    return !isCanceled
  }

  async function applyAll(tx: Tx): Promise<Applied> {
    await tx.unsafe(setTimeouts(NO_TIMEOUT))
    await requireUsable(tx)
    const pid = await prepare(tx)
    const before = await sizes(tx)
    const steps: { name: string; tookMs: number }[] = []
    const startedAt = performance.now()
    let stopped: Stop | undefined
    await tx.unsafe(CREATE_HISTORY)
    for (const migration of migrations) {
      const { name } = migration
      const stepAt = performance.now()
      const hasFinished = await finishes(tx, pid, migration)
      const tookMs = performance.now() - stepAt
      if (hasFinished) steps.push({ name, tookMs })
      else stopped = { name, afterMs: tookMs }
      if (stopped !== undefined) break
    }
    const tookMs = performance.now() - startedAt
    if (interruption !== undefined) throw interruption
    const size = sizeBetween(before, stopped === undefined ? await sizes(tx) : before)
    const waits = [...taken.values()].map(({ table, blocks, at }) => ({ table, blocks, forMs: Math.max(0, startedAt + tookMs - at) }))
    return { steps, tookMs, stopped, size, waits: strongest(waits) }
  }

  try {
    return await rollingBack(client, applyAll)
  } catch (error) {
    throw interruption ?? explained(error, obstacle)
  }
}
async function prepare(tx: Tx): Promise<number> {
  const [{ pid, version } = { pid: 0, version: 0 }] = await tx.unsafe<Server[]>(
    "select pg_backend_pid() as pid, current_setting('server_version_num')::integer as version",
  )
  await tx.unsafe(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
  // If this process is killed, the server notices within a second and rolls back.
  if (version >= 140_000) await tx.unsafe('set local client_connection_check_interval = 1000')
  return pid
}
/** Whoever cannot read a table cannot write it either, nor any of its rows. */
function strongest(waits: readonly Wait[]): Wait[] {
  const strength = ({ blocks }: Wait) => BY_STRENGTH.indexOf(blocks)
  const covers = (wait: Wait, other: Wait) => wait.table === other.table && strength(wait) > strength(other) && wait.forMs >= other.forMs
  return waits.filter((wait) => !waits.some((other) => covers(other, wait)))
}

async function sizes(queries: Client | Tx): Promise<Sizes> {
  const [row] = await queries.unsafe<Sizes[]>(SIZES)
  if (row === undefined) throw new TrialError('the size of the database cannot be read')
  return row
}

function sizeBetween(before: Sizes, after: Sizes): TrialSize {
  const total = ({ tables, indexes }: Sizes) => tables + indexes
  return { before: total(before), after: total(after), indexGrowth: after.indexes - before.indexes, log: after.written - before.written }
}

function explained(error: unknown, obstacle: string): unknown {
  if (!(error instanceof postgres.PostgresError)) return error
  if (error.code !== LOCK_NOT_AVAILABLE) return new TrialError(`the migrations fail on this database: ${error.message}`)
  return new TrialError(
    `a lock was not available within ${LOCK_TIMEOUT_MS / 1000} seconds: ${obstacle}. ` +
      'A migration would wait for it, and every request behind the migration. Nothing was changed; end that transaction, or try again later',
  )
}
