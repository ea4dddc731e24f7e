import postgres from 'postgres'
import { CREATE_HISTORY, compareWithHistory, MIGRATIONS_FOLDER, type Migration, READ_HISTORY, readMigrations } from '../../migrations.ts'
import { type Client, NO_TIMEOUT, setTimeouts, type Tx, withConnection } from '../../postgres/connections.ts'
import { LOCK_NOT_AVAILABLE } from '../../postgres/errors.ts'
import { applyMigration, requireUsable } from '../../postgres/migrations.ts'
import { type LockWatch, watchLocks } from './lock-watch.ts'
import { NOTHING_TRIED, type Stop, type Trial, TrialError, type TrialOptions, type TrialSize } from './trial.ts'

const QUERY_CANCELED = '57014'
// Requests queue behind a migration that waits for a lock.
const LOCK_TIMEOUT_MS = 500
const WATCH_TIMEOUT_MS = 5000
const SIZES = `
  select coalesce(sum(pg_table_size(oid)), 0)::bigint as tables, coalesce(sum(pg_indexes_size(oid)), 0)::bigint as indexes,
    pg_current_wal_insert_lsn()::text as position
  from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')`

type Sizes = { readonly tables: number; readonly indexes: number; readonly position: string }
type Server = { readonly pid: number; readonly version: number }
type Tried = Pick<Trial, 'steps' | 'tookMs' | 'stopped' | 'size'>

class RolledBack extends Error {}

/** Applies the migrations in a transaction that is rolled back, while another connection looks at its locks. */
export function tryOnPostgres(url: string, options: TrialOptions): Promise<Trial> {
  return withConnection(url, {}, (client) =>
    withConnection(url, { statement_timeout: WATCH_TIMEOUT_MS }, async (watcher) => {
      const [history] = await watcher.unsafe("select to_regclass('schema_migrations') is not null as exists")
      const { pending, newer } = compareWithHistory(
        'postgres',
        history?.['exists'] ? await watcher.unsafe(READ_HISTORY) : [],
        options.folder,
      )
      if (pending.length === 0) {
        const current = await sizes(watcher)
        return { ...NOTHING_TRIED, pending, newer, size: sizeBetween(current, current, 0) }
      }
      const names = new Set(pending)
      const migrations = readMigrations(options.folder ?? `${MIGRATIONS_FOLDER}/postgres`).filter(({ name }) => names.has(name))
      return { pending, newer, ...(await applyAndRollBack(client, watcher, migrations, options)) }
    }),
  )
}

async function applyAndRollBack(
  client: Client,
  watcher: Client,
  migrations: readonly Migration[],
  options: TrialOptions,
): Promise<Tried & Pick<Trial, 'waits'>> {
  let tried: Tried | undefined
  let watch: LockWatch | undefined
  let interruption: unknown
  let endedAt = 0
  try {
    await client.begin(async (tx) => {
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
      tried = { ...applied, size: applied.stopped === undefined ? await measured(tx, before) : sizeBetween(before, before, 0) }
      endedAt = performance.now()
      await watch.end()
      throw new RolledBack()
    })
  } catch (error) {
    endedAt ||= performance.now()
    await watch?.end().catch((reason) => {
      throw interruption ?? reason
    })
    if (interruption !== undefined) throw interruption
    if (!(error instanceof RolledBack)) throw explained(error, watch?.obstacle())
  }
  if (tried === undefined) throw new TrialError('the transaction ended early')
  return { ...tried, waits: watch?.waits(endedAt) ?? [] }
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

async function applyAll(tx: Tx, migrations: readonly Migration[], isCanceled: () => boolean): Promise<Omit<Tried, 'size'>> {
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

async function measured(tx: Tx, before: Sizes): Promise<TrialSize> {
  const after = await sizes(tx)
  const [row] = await tx.unsafe<{ bytes: number }[]>('select pg_wal_lsn_diff($1::pg_lsn, $2::pg_lsn)::bigint as bytes', [
    after.position,
    before.position,
  ])
  return sizeBetween(before, after, row?.bytes ?? 0)
}

async function sizes(queries: Client | Tx): Promise<Sizes> {
  const [row] = await queries.unsafe<Sizes[]>(SIZES)
  if (row === undefined) throw new TrialError('the size of the database cannot be read')
  return row
}

function sizeBetween(before: Sizes, after: Sizes, log: number): TrialSize {
  const total = ({ tables, indexes }: Sizes) => tables + indexes
  return { before: total(before), after: total(after), indexGrowth: after.indexes - before.indexes, log }
}

function explained(error: unknown, obstacle: string | undefined): unknown {
  if (!(error instanceof postgres.PostgresError)) return error
  if (error.code !== LOCK_NOT_AVAILABLE) return new TrialError(`the migrations fail on this database: ${error.message}`)
  return new TrialError(
    `a lock was not available within ${LOCK_TIMEOUT_MS / 1000} seconds: ${obstacle ?? 'a table is in use by another transaction'}. ` +
      'A migration would wait for it, and every request behind the migration. Nothing was changed; end that transaction, or try again later',
  )
}
