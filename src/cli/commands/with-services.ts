import { withDotEnv } from '../../config/dotenv.ts'
import { loadConfig } from '../../config/load.ts'
import { openMigrated, secretKeyOf } from '../../process/open-database.ts'
import { createServices, type Services } from '../../services.ts'
import type { Database } from '../../storage/database.ts'

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
