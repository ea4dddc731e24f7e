import type { Config } from '../config/load.ts'
import type { Migration } from '../storage/migrations.ts'
import type { MonitoredDatabase } from '../storage/monitored.ts'
import { migrate, type OutageObserver, openDatabase } from '../storage/open.ts'

/** Brings the database to the state that this version needs. Gives what had to be applied. */
export function migrateDatabase({ database }: Config): Promise<Migration[]> {
  return inWordsOf('DATABASE_URL', database, () => migrate(database))
}

/** The database, migrated and ready. The service and the command line both begin with it. */
export function openMigrated({ database }: Config, observer?: OutageObserver): Promise<MonitoredDatabase> {
  return inWordsOf('DATABASE_URL', database, async () => {
    await migrate(database)
    return openDatabase(database, observer)
  })
}

/** What goes wrong with a database, in words that name the setting or option that leads to it. */
export async function inWordsOf<Result>(name: string, database: Config['database'], work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const target = database.kind === 'sqlite' ? `the SQLite file ${database.file}` : 'the PostgreSQL database'
    throw new Error(`${name}: ${target} cannot be used: ${messageOf(error)}`, { cause: error })
  }
}

/** What the system says, in words that tell what to mend. */
const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  EEXIST: 'a part of its path is a file, where a folder is needed',
  ENOTDIR: 'a part of its path is a file, where a folder is needed',
  EISDIR: 'it is a folder',
  ENOENT: 'a folder of its path cannot be made',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  ECONNREFUSED: 'nothing listens at its address',
  ENOTFOUND: 'its host is not known',
  CONNECT_TIMEOUT: 'its host does not answer',
}

/** What went wrong with a file or an address, for the person who can mend it. */
export function messageOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = error instanceof Error ? error.message : String(error)
  const words = SYSTEM_WORDS[code]
  return words === undefined ? message : `${words} (${message || code})`
}
