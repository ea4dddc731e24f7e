import { Abandoned, Refusal } from '../model/refusal.ts'
import type { Database, DatabaseTarget } from './database.ts'
import type { Migration, OnNewer } from './migrations.ts'
import type { DatabaseObserver } from './postgres/driver.ts'
import { openSqlite } from './sqlite/driver.ts'
import { migrateSqlite } from './sqlite/migrations.ts'

export type { DatabaseObserver } from './postgres/driver.ts'

/** Applies the missing migrations, and returns them. */
export async function migrate(target: DatabaseTarget, onNewer?: OnNewer): Promise<Migration[]> {
  if (target.kind === 'sqlite') return migrateSqlite(target.file, { onNewer })
  const { migratePostgres } = await import('./postgres/migrations.ts')
  return migratePostgres(target.url, { onNewer })
}

/** The database has to be migrated: statements are prepared against its tables. */
export async function openDatabase(target: DatabaseTarget, observer: DatabaseObserver = {}): Promise<MonitoredDatabase> {
  if (target.kind === 'sqlite') return monitored(await openSqlite(target.file))
  // Loaded on demand: its client takes memory that a service on SQLite does not need.
  const { openPostgres } = await import('./postgres/driver.ts')
  return monitored(openPostgres(target, observer))
}

export type MonitoredDatabase = Database & {
  /** How often the database could not be used since it was opened. */
  errorCount(): number
}

/** Counts how often the database could not be used, by whichever part of the service. */
function monitored(db: Database): MonitoredDatabase {
  let errors = 0

  function note(error: unknown): void {
    // Work that was given up because its client has disconnected is not an error of the database.
    if (error instanceof Refusal && error.code === 'unavailable' && !(error instanceof Abandoned)) errors++
  }

  // The caller gets the promise of the database itself, so that counting delays nothing.
  function watched<Result>(work: Promise<Result>): Promise<Result> {
    work.catch(note)
    return work
  }

  return {
    first: (statement, ...values) => watched(db.first(statement, ...values)),
    all: (statement, ...values) => watched(db.all(statement, ...values)),
    run: (statement, ...values) => watched(db.run(statement, ...values)),
    lists: {
      first: (statement, ...values) => watched(db.lists.first(statement, ...values)),
      all: (statement, ...values) => watched(db.lists.all(statement, ...values)),
    },
    transaction: (work, options) => watched(db.transaction(work, options)),
    errorCount: () => errors,
    close: () => db.close(),
  }
}
