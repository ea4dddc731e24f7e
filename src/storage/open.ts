import type { DatabaseTarget } from './database-target.ts'
import type { Migration } from './migrations.ts'
import { type MonitoredDatabase, monitored } from './monitored.ts'
import { openPostgres } from './postgres/driver.ts'
import { migratePostgres } from './postgres/migrations.ts'
import type { OutageObserver } from './postgres/outage.ts'
import { openSqlite } from './sqlite/driver.ts'
import { migrateSqlite } from './sqlite/migrations.ts'

export type { OutageObserver } from './postgres/outage.ts'

export function migrate(target: DatabaseTarget): Promise<Migration[]> {
  return target.kind === 'sqlite' ? migrateSqlite(target.file) : migratePostgres(target.url)
}

/** The database has to be migrated: statements are prepared against its tables. */
export async function openDatabase(target: DatabaseTarget, observer: OutageObserver = {}): Promise<MonitoredDatabase> {
  return monitored(target.kind === 'sqlite' ? await openSqlite(target.file) : openPostgres(target.url, observer))
}
