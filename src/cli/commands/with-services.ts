import { withDotEnv } from '../../config/dotenv.ts'
import { loadConfig } from '../../config/load.ts'
import { createChanges } from '../../domain/changes.ts'
import type { Operator } from '../../model/caller.ts'
import { openMigrated, secretKeyOf } from '../../process/open-database.ts'
import { createServices, type Services } from '../../services.ts'
import { type Database, readsOf } from '../../storage/database.ts'

export const OPERATOR: Operator = { caller: 'operator', origin: { via: 'cli' } }

/** Runs one piece of work with the rules of the service, on the database that the settings name. */
export async function withServices<Result>(work: (services: Services, db: Database) => Promise<Result>): Promise<Result> {
  const config = loadConfig(withDotEnv(process.env))
  const db = await openMigrated(config)
  try {
    return await work(createServices({ db, secretKey: secretKeyOf(config), now: Date.now }), db)
  } finally {
    await db.close()
  }
}

/** What a single service is built from, on a database that may undo everything at the end. */
export function partsOf(db: Database) {
  const now = Date.now
  return { reads: readsOf(db), changes: createChanges({ db, now, onEvent: () => undefined }), now }
}
