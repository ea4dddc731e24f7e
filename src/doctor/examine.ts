import { type Config, ConfigError, type Environment, loadConfig, withDotEnv } from '../config/load.ts'
import { weakSettings } from '../config/posture.ts'
import { checkDatabase } from './database.checks.ts'
import { checkBranding, checkDisk, checkModes } from './file.checks.ts'
import { about, type Finding, inTime } from './finding.ts'
import { checkDevMail, checkSmtp } from './mail.checks.ts'
import { checkAddresses, checkFrontend } from './network.checks.ts'
import { checkBlocklist } from './password.checks.ts'
import { checkPooler, checkReplica } from './postgres.checks.ts'
import { checkSecret } from './secret.checks.ts'
import { checkProviders } from './sign-in.checks.ts'

const SETTINGS = about('settings')
const DEADLINE_MS = 20_000

type ExamineOptions = { readonly sendTo?: string | undefined; readonly now?: () => number }

/** Checks everything that usually goes wrong. Changes nothing, and ends within the deadline. */
export async function examine(env: Environment, options?: ExamineOptions): Promise<readonly Finding[]> {
  try {
    return await examineService(loadConfig(withDotEnv(env)), options)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.errors.flatMap((line) => SETTINGS.failure(line, 'Fix it in the environment or in .env. Nothing else was checked.'))
  }
}

/** The same for settings that are valid. */
export async function examineService(config: Config, { sendTo, now = Date.now }: ExamineOptions = {}): Promise<readonly Finding[]> {
  const checks: Readonly<Record<string, () => readonly Finding[] | Promise<readonly Finding[]>>> = {
    settings: () => SETTINGS.ok('all valid'),
    production: () => checkPosture(config),
    secret: () => checkSecret(config),
    files: () => checkModes(config),
    disk: () => checkDisk(config),
    password: () => checkBlocklist(config),
    branding: () => checkBranding(config),
    database: () => checkDatabase(config, now),
    pooler: () => checkPooler(config),
    replica: () => checkReplica(config),
    smtp: () => checkSmtp(config, sendTo),
    mailbox: () => checkDevMail(config),
    port: () => checkAddresses(config, now),
    frontend: () => checkFrontend(config),
    providers: () => checkProviders(config, now),
  }
  const groups = await Promise.all(Object.entries(checks).map(([name, check]) => inTime(name, DEADLINE_MS, check)))
  return groups.flat()
}

const PRODUCTION = about('production')

/** Warns about settings that are too weak for a public address. */
export function checkPosture(config: Config): readonly Finding[] {
  return weakSettings(config).flatMap(({ name, value, problem }) => PRODUCTION.warning(`${name} ${problem}`, `Set ${name} to ${value}.`))
}
