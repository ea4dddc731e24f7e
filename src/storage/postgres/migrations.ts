import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../../shared/errors.ts'
import {
  CREATE_HISTORY,
  type MigrateOptions,
  type Migration,
  MigrationError,
  planMigrations,
  READ_HISTORY,
  recordOf,
} from '../migrations.ts'
import { type Client, NO_TIMEOUT, setTimeouts, type Tx, withConnection } from './connections.ts'
import { DEADLOCK_DETECTED, LOCK_NOT_AVAILABLE } from './errors.ts'

const MIGRATION_LOCK = 7_214_000
// Requests queue behind a migration that waits for a lock, and their statements have two seconds. An autovacuum gives way after one.
const LOCK_TIMEOUT_MS = 1500
// In the pause the queue is served.
const PAUSE_MS = 1000
const PATIENCE_MS = 60_000
// A process of the former release locks the tables of a request in its own order, so that each can wait for the other.
const BUSY: readonly unknown[] = [LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED]

/** Applies the missing migrations in one transaction, under a lock that all processes share. */
export function migratePostgres(url: string, options: MigrateOptions = {}): Promise<Migration[]> {
  return withConnection(url, {}, async (client) => {
    const deadline = performance.now() + PATIENCE_MS
    for (;;) {
      try {
        return await migrateOnce(client, options)
      } catch (error) {
        if (!BUSY.includes(codeOf(error))) throw error
        if (performance.now() > deadline) throw new MigrationError(TABLE_IN_USE, { cause: error })
        await sleep(PAUSE_MS)
      }
    }
  })
}

const TABLE_IN_USE =
  'a migration needs a table that another transaction has used for a minute; nothing was changed. End that transaction (pg_stat_activity lists it), and start again'

function migrateOnce(client: Client, { folder, onNewer }: MigrateOptions): Promise<Migration[]> {
  return client.begin(async (tx) => {
    await tx.unsafe(setTimeouts(NO_TIMEOUT))
    await requireUsable(tx)
    // Another process may migrate for as long as it needs; after that, no lock is waited for long.
    await tx.unsafe('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    await tx.unsafe(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
    await tx.unsafe(CREATE_HISTORY)
    const { pending, newer } = planMigrations('postgres', await tx.unsafe(READ_HISTORY), folder)
    for (const migration of pending) await applyMigration(tx, migration)
    if (newer.length > 0) onNewer?.(newer)
    return pending
  })
}

export async function applyMigration(tx: Tx, migration: Migration): Promise<void> {
  const record = recordOf(migration)
  await tx.unsafe(migration.sql).simple()
  await tx.unsafe(record.sql, record.values)
}

export async function requireUsable(tx: Tx): Promise<void> {
  const [found] = await tx.unsafe<Record<'encoding' | 'read_only', string>[]>(
    "select current_setting('server_encoding') as encoding, current_setting('transaction_read_only') as read_only",
  )
  // In another encoding, PostgreSQL would refuse some names, or store them as bytes, one request at a time.
  if (found?.encoding !== 'UTF8')
    throw new Error(`its encoding is ${found?.encoding}, not UTF8: create it with encoding 'UTF8' template template0`)
  if (found.read_only === 'on') throw new Error('it is read-only (default_transaction_read_only is on); the service has to write to it')
}
