import { withDotEnv } from '../config/dotenv.ts'
import { loadConfig } from '../config/load.ts'
import { createChanges } from '../domain/changes.ts'
import type { DomainParts } from '../domain/parts.ts'
import type { Operator } from '../model/caller.ts'
import { openMigrated } from '../process/open-database.ts'
import { type Database, readsOf } from '../storage/database.ts'

export const OPERATOR: Operator = { caller: 'operator', origin: { via: 'cli' } }

/** Opens the database that the settings name, migrated, and closes it after the work. */
export async function withDatabase<Result>(work: (db: Database) => Promise<Result>): Promise<Result> {
  const db = await openMigrated(loadConfig(withDotEnv(process.env)))
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** The parts that a command builds its services from. None of them needs the secret key. */
export function partsOf(db: Database): Pick<DomainParts, 'reads' | 'changes' | 'now'> {
  const now = Date.now
  return { reads: readsOf(db), changes: createChanges({ db, now, onEvent: () => undefined }), now }
}
