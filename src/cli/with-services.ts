import { type Config, loadConfig, withDotEnv } from '../config/load.ts'
import type { Operator } from '../model/caller.ts'
import { openMigrated } from '../process/open-database.ts'
import { secretsOf } from '../process/secrets.ts'
import { isListed } from '../security/blocklist.ts'
import type { Secrets } from '../security/derived-keys.ts'
import type { Services } from '../services.ts'
import { once } from '../shared/lazily.ts'
import type { Database, Transaction } from '../storage/database.ts'
import { InvalidInput } from './terminal/refusals.ts'

export const OPERATOR: Operator = { caller: 'operator', origin: { via: 'cli' } }

export const DRY_RUN_OPTION = ['--dry-run', 'check everything and say what would be done, without doing it'] as const

export type CommandParts = {
  readonly config: Config
  readonly db: Database
  /** Reads them, or creates them on SQLite, with the first call. */
  readonly secrets: () => Secrets
  readonly rehearse: Rehearse
}

/**
 * Runs work with all its rules in a transaction, rolls the transaction back, and returns the result.
 * A large deletion calls `stop` after its first step, which has checked the rules: the rest would only hold locks.
 */
export type Rehearse = <Result>(work: (services: Services, stop: () => never) => Promise<Result>) => Promise<Result | undefined>

/** The settings of the environment and of the .env file. */
export function readConfig(): Config {
  return loadConfig(withDotEnv(process.env))
}

/** Opens the database that the settings name, migrated, and closes it after the work. */
export async function withServices<Result>(work: (services: Services, parts: CommandParts) => Promise<Result>): Promise<Result> {
  const config = readConfig()
  // Loaded here only: a command that prints its help, or works on files, needs no rules.
  const { createServices } = await import('../services.ts')
  const db = await openMigrated(config)
  const secrets = once(() => secretsOf(config))
  const now = Date.now
  // Nothing follows from a change that is rolled back.
  const rehearse: Rehearse = (rehearsed) =>
    rollBack(db, (tx, stop) => rehearsed(createServices(config, { db: tx, secrets, now, followUps: [] }), stop))
  try {
    return await work(createServices(config, { db, secrets, now }), { config, db, secrets, rehearse })
  } finally {
    await db.close()
  }
}

async function rollBack<Result>(db: Database, work: (tx: Database, stop: () => never) => Promise<Result>): Promise<Result | undefined> {
  const rolledBack = new Error('rolled back after a rehearsal')
  let result: Result | undefined
  const stop = () => {
    throw rolledBack
  }
  const rehearsal = async (tx: Transaction) => {
    result = await work({ ...tx, lists: tx, transaction: (inner) => inner(tx), close: async () => undefined }, stop)
    stop()
  }
  await db.transaction(rehearsal, { isLong: true }).catch((error: unknown) => {
    if (error !== rolledBack) throw error
  })
  return result
}

/** Refuses a new password that is on the list of PASSWORD_BLOCKLIST. */
export async function requireUnlisted(password: string, { passwordBlocklist }: Config): Promise<void> {
  if (await isListed(passwordBlocklist, password)) throw new InvalidInput(['--password: This password is on a list of breached passwords'])
}
