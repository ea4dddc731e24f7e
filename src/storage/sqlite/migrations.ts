import type { DatabaseSync } from 'node:sqlite'
import {
  type AppliedMigration,
  CREATE_HISTORY,
  MIGRATIONS_FOLDER,
  type MigrateOptions,
  type Migration,
  MigrationError,
  newerMigrations,
  pendingMigrations,
  READ_HISTORY,
  readMigrations,
  recordOf,
} from '../migrations.ts'
import { begin, connect, deadlineIn, LOCK_DEADLINE_MS } from './connection.ts'

export type MigrateSqliteOptions = MigrateOptions & {
  /** Receives the name of a migration that was applied, and how long that took. */
  readonly onApplied?: (name: string, tookMs: number) => void
}

/** Applies the missing migrations in one transaction, under the write lock: a process that is killed half-way leaves nothing behind. */
export async function migrateSqlite(
  file: string,
  { folder = `${MIGRATIONS_FOLDER}/sqlite`, onNewer, onApplied }: MigrateSqliteOptions = {},
): Promise<Migration[]> {
  const connection = await connect(file)
  try {
    // A migration may rebuild a table that others reference, without deleting their rows. The references are checked below.
    connection.exec('pragma foreign_keys = off')
    await begin(connection, deadlineIn(LOCK_DEADLINE_MS))
    connection.exec(CREATE_HISTORY)
    const applied = connection.prepare(READ_HISTORY).all() as AppliedMigration[]
    const known = readMigrations(folder)
    const pending = pendingMigrations(known, applied)
    for (const migration of pending) {
      const startedAt = performance.now()
      applyMigration(connection, migration)
      onApplied?.(migration.name, performance.now() - startedAt)
    }
    if (connection.prepare('pragma foreign_key_check').get() !== undefined) throw new MigrationError('A migration leaves broken references')
    connection.exec('commit')
    const newer = newerMigrations(known, applied)
    if (newer.length > 0) onNewer?.(newer.map(({ name }) => name))
    return pending
  } finally {
    connection.close()
  }
}

function applyMigration(connection: DatabaseSync, migration: Migration): void {
  const record = recordOf(migration)
  connection.exec(migration.sql)
  connection.prepare(record.sql).run(Object.fromEntries(record.values.map((value, index) => [`$${index + 1}`, value])))
}
