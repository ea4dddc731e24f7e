import type { Logger } from 'pino'
import type { Config } from '../config/load.ts'
import { ensureAdmin, isMissing } from '../domain/sign-in/first-admin.service.ts'
import type { Operator } from '../model/caller.ts'
import { isListed } from '../security/blocklist.ts'
import type { Secrets } from '../security/derived-keys.ts'
import { createServices } from '../services.ts'
import { type Database, readsOf } from '../storage/database.ts'
import { openBranding } from './branding.ts'
import { createEventLog } from './logger.ts'
import { openMigrated } from './open-database.ts'
import { secretsOf } from './secrets.ts'

const OPERATOR: Operator = { caller: 'operator', origin: { via: 'start' } }
const PROMOTED =
  'the existing account with the address in ADMIN_EMAIL is now an admin; if it is not yours, run `latchkey user remove-admin` and correct ADMIN_EMAIL'
const NEWER =
  'the database was migrated by a newer version of Latchkey, which keeps it usable for this one; install that version when you are ready'
const LISTED = 'ADMIN_PASSWORD: is on a list of breached passwords (PASSWORD_BLOCKLIST); choose another one'

/** Runs once, before any process serves: applies migrations, creates the secret key and the admin of ADMIN_EMAIL. */
export async function prepare(config: Config, logger: Logger): Promise<{ readonly hasAdmin: boolean; readonly secrets: Secrets }> {
  // Faulty templates stop the start here, once, before anything is changed.
  await openBranding(config)
  const db = await openMigrated(config, {}, (migrations) => logger.warn({ migrations }, NEWER))
  try {
    const secrets = secretsOf(config)
    await checkBlocklist(config, db, logger)
    const services = createServices(config, { db, secrets: () => secrets, now: Date.now, onEvent: createEventLog(logger) })
    if (!config.admin) return { hasAdmin: await services.userDirectory.hasAdmin(), secrets }
    const { promoted } = await ensureAdmin(services, OPERATOR, config.admin)
    if (promoted !== undefined) logger.warn({ userId: promoted }, PROMOTED)
    return { hasAdmin: true, secrets }
  } finally {
    await db.close()
  }
}

/** A list that cannot be used stops the start here, once, and not in each worker. So does ADMIN_PASSWORD on it, if it would be set. */
async function checkBlocklist({ passwordBlocklist, admin }: Config, db: Database, logger: Logger): Promise<void> {
  if (!(await isListed(passwordBlocklist, admin?.password)) || admin === undefined) return
  if (await isMissing(readsOf(db), admin.email)) throw new Error(LISTED)
  // The account keeps its own password. A list that grew must not stop a restart.
  logger.warn(LISTED)
}
