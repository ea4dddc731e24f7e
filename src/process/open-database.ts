import type { Config } from '../config/load.ts'
import { explainSystemError } from '../shared/errors.ts'
import type { Migration, OnNewer } from '../storage/migrations.ts'
import { type DatabaseObserver, type MonitoredDatabase, migrate, openDatabase } from '../storage/open.ts'

/** Applies the migrations that the database lacks, and returns them. */
export function migrateDatabase({ database }: Config, onNewer?: OnNewer): Promise<Migration[]> {
  return explainDatabaseErrors('DATABASE_URL', database, () => migrate(database, onNewer))
}

/** Migrates the database, then opens it. */
export function openMigrated({ database }: Config, observer?: DatabaseObserver, onNewer?: OnNewer): Promise<MonitoredDatabase> {
  return explainDatabaseErrors('DATABASE_URL', database, async () => {
    await migrate(database, onNewer)
    return openDatabase(database, observer)
  })
}

/** Runs `work`; its errors name the database, and the setting or option that it comes from. */
export async function explainDatabaseErrors<Result>(
  setting: string,
  database: Config['database'],
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const target = database.kind === 'sqlite' ? `the SQLite file ${database.file}` : 'the PostgreSQL database'
    throw new Error(`${setting}: ${target} cannot be used: ${explainSystemError(error)}`, { cause: error })
  }
}
