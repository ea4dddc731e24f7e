import postgres from 'postgres'
import { CREATE_HISTORY, HISTORY_EXISTS, type Migration, planMigrations, READ_HISTORY } from '../../migrations.ts'
import { type Client, NO_TIMEOUT, setTimeouts, type Tx, withConnection } from '../../postgres/connections.ts'
import { LOCK_NOT_AVAILABLE } from '../../postgres/errors.ts'
import { applyMigration, requireUsable } from '../../postgres/migrations.ts'
import { rollingBack } from '../schema.ts'
import { type LockWatch, watchLocks } from './lock-watch.ts'
import { NOTHING_TRIED, type Stop, type Trial, TrialError, type TrialOptions, type TrialSize } from './trial.ts'

const QUERY_CANCELED = '57014'
// Requests queue behind a migration that waits for a lock.
const LOCK_TIMEOUT_MS = 500
const WATCH_TIMEOUT_MS = 5000
const SIZES = `
  select coalesce(sum(pg_table_size(oid)), 0)::bigint as tables, coalesce(sum(pg_indexes_size(oid)), 0)::bigint as indexes,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as written
  from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')`

/** The sizes of all tables and indexes, and how much the server has written to its write-ahead log since it was created. */
type Sizes = Readonly<Record<'tables' | 'indexes' | 'written', number>>
type Server = { readonly pid: number; readonly version: number }

/** Applies the migrations in a transaction that is rolled back, while another connection looks at its locks. */
export function tryOnPostgres(url: string, options: TrialOptions): Promise<Trial> {
  return withConnection(url, {}, (client) =>
    withConnection(url, { statement_timeout: WATCH_TIMEOUT_MS }, async (watcher) => {
      const isMigrated = (await watcher.unsafe(HISTORY_EXISTS.postgres)).length > 0
      const plan = planMigrations('postgres', isMigrated ? await watcher.unsafe(READ_HISTORY) : [], options.folder)
      const { newer } = plan
      const pending = plan.pending.map(({ name }) => name)
      if (pending.length > 0) return { pending, newer, ...(await applyAndRollBack(client, watcher, plan.pending, options)) }
      const current = await sizes(watcher)
      return { ...NOTHING_TRIED, pending, newer, size: sizeBetween(current, current) }
    }),
  )
}

async function applyAndRollBack(
  client: Client,
  watcher: Client,
  migrations: readonly Migration[],
  options: TrialOptions,
): Promise<Omit<Trial, 'pending' | 'newer'>> {
  let watch: LockWatch | undefined
  let interruption: unknown
  try {
    return await rollingBack(client, async (tx) => {
      await tx.unsafe(setTimeouts(NO_TIMEOUT))
      await requireUsable(tx)
      const pid = await prepare(tx)
      const before = await sizes(tx)
      let isApplying = true
      let isCanceled = false
      watch = watchLocks(watcher, {
        pid,
        async onLook(waitedMs) {
          try {
            options.check()
            if (waitedMs <= options.maxWaitMs) return
          } catch (error) {
            interruption ??= error
          }
          if (!isApplying) return
          // Repeated at each look, because PostgreSQL ignores it between two statements.
          isCanceled = true
          await watcher.unsafe('select pg_cancel_backend($1)', [pid])
        },
        // Without the watch nobody would stop the trial. The server rolls back a transaction whose connection is closed.
        onFailure: () => void client.end({ timeout: 0 }),
      })
      const applied = await applyAll(tx, migrations, () => isCanceled).finally(() => {
        isApplying = false
      })
      const size = sizeBetween(before, applied.stopped === undefined ? await sizes(tx) : before)
      const endedAt = performance.now()
      await watch.end()
      if (interruption !== undefined) throw interruption
      return { ...applied, size, waits: watch.waits(endedAt) }
    })
  } catch (error) {
    await watch?.end().catch((reason) => {
      throw interruption ?? reason
    })
    throw interruption ?? explained(error, watch?.obstacle())
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

async function applyAll(
  tx: Tx,
  migrations: readonly Migration[],
  isCanceled: () => boolean,
): Promise<Pick<Trial, 'steps' | 'tookMs' | 'stopped'>> {
  const steps: { name: string; tookMs: number }[] = []
  const startedAt = performance.now()
  let stopped: Stop | undefined
  await tx.unsafe(CREATE_HISTORY)
  for (const migration of migrations) {
    const stepAt = performance.now()
    const hasEnded = await finishes(tx, migration, isCanceled)
    const tookMs = performance.now() - stepAt
    if (!hasEnded) {
      stopped = { name: migration.name, afterMs: tookMs }
      break
    }
    steps.push({ name: migration.name, tookMs })
  }
  return { steps, tookMs: performance.now() - startedAt, stopped }
}

/** Returns false if the migration was canceled, because requests had waited for long enough. */
async function finishes(tx: Tx, migration: Migration, isCanceled: () => boolean): Promise<boolean> {
  if (isCanceled()) return false
  try {
    await tx.savepoint((inner) => applyMigration(inner, migration))
    // It may have ended before the cancellation arrived. What follows must not be canceled instead.
    return !isCanceled()
  } catch (error) {
    if (isCanceled() && error instanceof postgres.PostgresError && error.code === QUERY_CANCELED) return false
    throw error
  }
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

function explained(error: unknown, obstacle: string | undefined): unknown {
  if (!(error instanceof postgres.PostgresError)) return error
  if (error.code !== LOCK_NOT_AVAILABLE) return new TrialError(`the migrations fail on this database: ${error.message}`)
  return new TrialError(
    `a lock was not available within ${LOCK_TIMEOUT_MS / 1000} seconds: ${obstacle ?? 'a table is in use by another transaction'}. ` +
      'A migration would wait for it, and every request behind the migration. Nothing was changed; end that transaction, or try again later',
  )
}
