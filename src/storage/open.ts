import type { DatabaseTarget } from './database-target.ts'
import type { Migration } from './migrations.ts'
import { type MonitoredDatabase, monitored } from './monitored.ts'
import type { DatabaseObserver } from './postgres/driver.ts'
import { openSqlite } from './sqlite/driver.ts'
import { migrateSqlite } from './sqlite/migrations.ts'

export type { DatabaseObserver } from './postgres/driver.ts'

export async function migrate(target: DatabaseTarget): Promise<Migration[]> {
  if (target.kind === 'sqlite') return migrateSqlite(target.file)
  const { migratePostgres } = await import('./postgres/migrations.ts')
  return migratePostgres(target.url)
}

/** The database has to be migrated: statements are prepared against its tables. */
export async function openDatabase(target: DatabaseTarget, observer: DatabaseObserver = {}): Promise<MonitoredDatabase> {
  if (target.kind === 'sqlite') return monitored(await openSqlite(target.file))
  // Loaded on demand: its client takes memory that a service on SQLite does not need.
  const { openPostgres } = await import('./postgres/driver.ts')
  return monitored(openPostgres(target, observer))
}
