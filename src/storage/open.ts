import type { DatabaseTarget } from '../config/load.ts'
import type { Database } from './database.ts'
import type { Migration } from './migrations.ts'
import { openPostgres } from './postgres/driver.ts'
import { migratePostgres } from './postgres/migrations.ts'
import { openSqlite } from './sqlite/driver.ts'
import { migrateSqlite } from './sqlite/migrations.ts'

export function migrate(target: DatabaseTarget): Promise<Migration[]> {
  return target.kind === 'sqlite' ? migrateSqlite(target.file) : migratePostgres(target.url)
}

/** The database has to be migrated: statements are prepared against its tables. */
export async function openDatabase(target: DatabaseTarget): Promise<Database> {
  return target.kind === 'sqlite' ? await openSqlite(target.file) : openPostgres(target.url)
}
