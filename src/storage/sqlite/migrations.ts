import type { DatabaseSync } from 'node:sqlite'
import { numbered } from '../database.ts'
import {
  CREATE_HISTORY,
  type MigrateOptions,
  type Migration,
  MigrationError,
  planMigrations,
  READ_HISTORY,
  recordOf,
} from '../migrations.ts'
import { begin, connect, deadlineIn, LOCK_DEADLINE_MS } from './connection.ts'

export type MigrateSqliteOptions = MigrateOptions & {
  /** Receives the name of a migration that was applied, and how long that took. */
  readonly onApplied?: (name: string, tookMs: number) => void
}

/** Applies the missing migrations in one transaction, under the write lock: a process that is killed half-way leaves nothing behind. */
export async function migrateSqlite(file: string, { folder, onNewer, onApplied }: MigrateSqliteOptions = {}): Promise<Migration[]> {
  using connection = await connect(file)
  // A migration may rebuild a table that others reference, without deleting their rows. The references are checked below.
  connection.exec('pragma foreign_keys = off')
  await begin(connection, deadlineIn(LOCK_DEADLINE_MS))
  connection.exec(CREATE_HISTORY)
  const { pending, newer } = planMigrations('sqlite', connection.prepare(READ_HISTORY).all(), folder)
  for (const migration of pending) {
    const startedAt = performance.now()
    applyMigration(connection, migration)
    onApplied?.(migration.name, performance.now() - startedAt)
  }
  if (connection.prepare('pragma foreign_key_check').get() !== undefined) throw new MigrationError('A migration leaves broken references')
  connection.exec('commit')
  if (newer.length > 0) onNewer?.(newer)
  return pending
}

function applyMigration(connection: DatabaseSync, migration: Migration): void {
  const record = recordOf(migration)
  connection.exec(migration.sql)
  connection.prepare(numbered(record.sql)).run(...record.values)
}
