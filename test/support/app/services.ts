import { loadConfig } from '../../../src/config/load.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createServices, type Services } from '../../../src/services.ts'
import type { Database } from '../../../src/storage/database.ts'
import { TEST_SECRET } from './start-app.ts'

/** The services of a database that a process or a command uses, with the secret of the tests. */
export function servicesOn(db: Database): Services {
  const config = loadConfig({ SECRET_KEY: TEST_SECRET })
  return createServices(config, { db, secrets: () => secretsOf(config), now: Date.now })
}
