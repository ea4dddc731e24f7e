import type { DatabaseTarget } from './database-target.ts'
import type { Migration, OnNewer } from './migrations.ts'
import { type MonitoredDatabase, monitored } from './monitored.ts'
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
