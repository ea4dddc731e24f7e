import { withDotEnv } from '../config/dotenv.ts'
import { type Config, loadConfig } from '../config/load.ts'
import { createChanges, type FollowUp } from '../domain/changes/changes.ts'
import { createFollowUps } from '../domain/changes/follow-ups.ts'
import type { DomainParts } from '../domain/changes/parts.ts'
import type { Operator } from '../model/caller.ts'
import { openMigrated } from '../process/open-database.ts'
import { secretsOf } from '../process/secrets.ts'
import { openBlocklist } from '../security/blocklist.ts'
import { type Database, readsOf } from '../storage/database.ts'
import { InvalidInput } from './terminal/refusals.ts'

export const OPERATOR: Operator = { caller: 'operator', origin: { via: 'cli' } }

/** Opens the database that the settings name, migrated, and closes it after the work. */
export async function withDatabase<Result>(work: (db: Database, config: Config) => Promise<Result>): Promise<Result> {
  const config = loadConfig(withDotEnv(process.env))
  const db = await openMigrated(config)
  try {
    return await work(db, config)
  } finally {
    await db.close()
  }
}

/** Refuses a new password that is on the list of PASSWORD_BLOCKLIST. */
export async function requireUnlisted(password: string): Promise<void> {
  const blocklist = await openBlocklist(loadConfig(withDotEnv(process.env)).passwordBlocklist)
  try {
    if (await blocklist?.includes(password)) throw new InvalidInput(['--password: This password is on a list of breached passwords'])
  } finally {
    await blocklist?.close()
  }
}

/** The parts that a command builds its services from. */
export function partsOf(db: Database): Pick<DomainParts, 'reads' | 'lists' | 'changes' | 'now'> {
  const now = Date.now
  const changes = createChanges({ db, now, followUps: [followEvents], onEvent: () => undefined })
  return { reads: readsOf(db), lists: readsOf(db.lists), changes, now }
}

/** Reads the secret key when the first event is stored: a command that changes nothing does not need it. */
const followEvents: FollowUp = (events, before) => {
  const config = loadConfig(withDotEnv(process.env))
  const { webhook: webhooks, securityNotices } = config
  const followUps = createFollowUps({ secrets: secretsOf(config), webhooks, securityNotices })
  return followUps.flatMap((followUp) => followUp(events, before))
}
