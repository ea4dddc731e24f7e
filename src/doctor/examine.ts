import { withDotEnv } from '../config/dotenv.ts'
import { type Config, ConfigError, type Environment, loadConfig } from '../config/load.ts'
import { checkBranding } from './branding.checks.ts'
import { checkDatabase } from './database.checks.ts'
import { checkDisk, checkModes } from './file.checks.ts'
import { type Finding, failure, inTime, ok } from './finding.ts'
import { checkDevMail, checkSmtp } from './mail.checks.ts'
import { checkAddresses, checkFrontend } from './network.checks.ts'
import { checkBlocklist } from './password.checks.ts'
import { checkPooler } from './pooler.checks.ts'
import { checkReplica } from './replica.checks.ts'
import { checkSecret } from './secret.checks.ts'

const DEADLINE_MS = 20_000

export type ExamineOptions = { readonly sendTo?: string | undefined; readonly now?: () => number }

/** Checks everything that usually goes wrong. Changes nothing, and ends within the deadline. */
export async function examine(env: Environment, { sendTo, now = Date.now }: ExamineOptions = {}): Promise<readonly Finding[]> {
  const config = readSettings(env)
  return 'host' in config ? examineService(config, { sendTo, now }) : config
}

/** The same for settings that are valid. */
export async function examineService(config: Config, { sendTo, now = Date.now }: ExamineOptions = {}): Promise<readonly Finding[]> {
  const groups = await Promise.all([
    [ok('settings', 'all valid')],
    inTime(
      'secret',
      DEADLINE_MS,
      Promise.resolve().then(() => checkSecret(config)),
    ),
    inTime(
      'files',
      DEADLINE_MS,
      Promise.resolve().then(() => checkModes(config)),
    ),
    inTime(
      'disk',
      DEADLINE_MS,
      Promise.resolve().then(() => checkDisk(config)),
    ),
    inTime('password', DEADLINE_MS, checkBlocklist(config)),
    inTime('branding', DEADLINE_MS, checkBranding(config)),
    inTime('database', DEADLINE_MS, checkDatabase(config, now)),
    inTime('pooler', DEADLINE_MS, checkPooler(config)),
    inTime('replica', DEADLINE_MS, checkReplica(config)),
    inTime('smtp', DEADLINE_MS, checkSmtp(config, sendTo)),
    checkDevMail(config),
    inTime('port', DEADLINE_MS, checkAddresses(config, now)),
    inTime('frontend', DEADLINE_MS, checkFrontend(config)),
  ])
  return groups.flat()
}

function readSettings(env: Environment): Config | readonly Finding[] {
  try {
    return loadConfig(withDotEnv(env))
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.errors.map((line) => failure('settings', line, 'Fix it in the environment or in .env. Nothing else was checked.'))
  }
}
