import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { DEFAULT_KEY_PREFIX } from '../domain/values/limits.ts'
import { NO_LIMITS, parseRateLimits, type RateLimits } from '../domain/values/rate-limits.ts'
import { codeOf } from '../shared/errors.ts'
import { COMMAND } from '../shared/program.ts'
import type { DatabaseTarget } from '../storage/database.ts'
import {
  type LogLevel,
  type Parsed,
  parseAdminEmail,
  parseAdminPassword,
  parseBlocklist,
  parseBoolean,
  parseColor,
  parseDatabaseUrl,
  parseDays,
  parseFallbacks,
  parseHost,
  parseHttpUrl,
  parseKeyPrefix,
  parseLogLevel,
  parseMailFrom,
  parseOrigins,
  parsePath,
  parsePort,
  parseReplicaUrl,
  parseSecretKey,
  parseSmtpUrl,
  parseTitle,
  parseToken,
  parseWorkers,
} from './values.ts'
import { parseWebhook, type WebhookSettings } from './webhook.ts'

export type Config = ReturnType<typeof loadConfig>

/** The settings are invalid. Each message is one line and starts with the name of the setting. */
export class ConfigError extends Error {
  readonly errors: readonly string[]

  constructor(errors: readonly string[]) {
    super(errors.join('\n'))
    this.name = 'ConfigError'
    this.errors = errors
  }
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings from an environment; throws ConfigError with all errors. */
export function loadConfig(env: Environment) {
  const errors: string[] = []
  const read = createReader(env, errors)
  const port = read('PORT', parsePort, 8000)
  const target = read<DatabaseTarget>('DATABASE_URL', parseDatabaseUrl, { kind: 'sqlite', file: 'data/latchkey.db' })
  const replicaUrl = read('DATABASE_READ_URL', parseReplicaUrl)
  if (replicaUrl !== undefined && target.kind === 'sqlite') errors.push('DATABASE_READ_URL: a replica needs PostgreSQL in DATABASE_URL')
  const database = target.kind === 'sqlite' || replicaUrl === undefined ? target : { ...target, replicaUrl }
  const secretKey = read('SECRET_KEY', parseSecretKey)
  if (database.kind === 'postgres' && !env['SECRET_KEY']) {
    errors.push(`SECRET_KEY: is required with PostgreSQL; create one with \`${COMMAND} secret generate\``)
  }
  const config = {
    host: read('HOST', parseHost, '127.0.0.1'),
    port,
    database: Object.freeze<DatabaseTarget>(database),
    // Undefined only with SQLite: the first start then creates a secret and stores it next to the database file.
    secretKey,
    // Former secrets: tokens that one of them signed stay valid.
    secretKeyFallbacks: Object.freeze(readFallbacks(env, errors)),
    baseUrl: read('BASE_URL', parseHttpUrl, `http://localhost:${port}`),
    frontendUrl: read('FRONTEND_URL', parseHttpUrl),
    apiTitle: read('API_TITLE', parseTitle, 'Latchkey'),
    brandColor: read('BRAND_COLOR', parseColor),
    // The path of a PNG or SVG file.
    brandLogo: read('BRAND_LOGO', parsePath),
    // The folder of the files that replace the texts of mails.
    templatesDir: read('TEMPLATES_DIR', parsePath),
    metricsEnabled: read('METRICS_ENABLED', parseBoolean, false),
    consoleEnabled: read('CONSOLE_ENABLED', parseBoolean, true),
    accountPagesEnabled: read('ACCOUNT_PAGES_ENABLED', parseBoolean, true),
    smtpUrl: read('SMTP_URL', parseSmtpUrl),
    mailFrom: read('MAIL_FROM', parseMailFrom, 'Latchkey <noreply@localhost>'),
    // Reads the mails that are kept as files, over /dev/mail. Without it, each start generates one.
    devMailToken: read('DEV_MAIL_TOKEN', parseToken),
    admin: Object.freeze(readAdmin(env, errors)),
    corsOrigins: Object.freeze(read<'*' | readonly string[]>('CORS_ORIGINS', parseOrigins, '*')),
    trustProxy: read('TRUST_PROXY', parseBoolean, false),
    rateLimits: readRateLimits(env, errors),
    // `common`, or the path of a file.
    passwordBlocklist: read('PASSWORD_BLOCKLIST', parseBlocklist),
    // Whether a new address takes effect only when the link that is mailed to it is opened.
    confirmEmailChanges: read('CONFIRM_EMAIL_CHANGES', parseBoolean, false),
    // Whether users may delete their own accounts.
    selfDeletion: read('SELF_DELETION', parseBoolean, false),
    // Whether the owners of accounts get mails about changes of their security.
    securityNotices: read('SECURITY_NOTICES', parseBoolean, false),
    webhook: readWebhook(env, errors),
    logLevel: read<LogLevel>('LOG_LEVEL', parseLogLevel, 'info'),
    // The prefix of new API keys. Keys with another one stay valid.
    keyPrefix: read('KEY_PREFIX', parseKeyPrefix, DEFAULT_KEY_PREFIX),
    // How long events are kept; 0 keeps them for ever.
    auditRetentionDays: read('AUDIT_RETENTION_DAYS', parseDays, 365),
    // The number of processes that share the port.
    workers: read('WORKERS', parseWorkers, 1),
  }
  if (errors.length > 0) throw new ConfigError(errors)
  return Object.freeze(config)
}

/** Returns the function that reads one setting, and adds what is wrong with it to the errors. */
function createReader(env: Environment, errors: string[]) {
  function read<Value>(name: string, parse: (text: string) => Parsed<Value>): Value | undefined
  function read<Value>(name: string, parse: (text: string) => Parsed<Value>, fallback: Value): Value
  function read<Value>(name: string, parse: (text: string) => Parsed<Value>, fallback?: Value): Value | undefined {
    const text = env[name]
    // `NAME=` in a file means "not set", as in most tools that read such files.
    if (text === undefined || text === '') return fallback
    const parsed = parse(text)
    if ('value' in parsed) return parsed.value
    errors.push(`${name}: ${parsed.error}`)
    return fallback
  }
  return read
}

function readFallbacks(env: Environment, errors: string[]): readonly Uint8Array[] {
  const text = env['SECRET_KEY_FALLBACKS']
  if (!text) return []
  const fallbacks = parseFallbacks(text, env['SECRET_KEY'])
  errors.push(...fallbacks.errors.map((error) => `SECRET_KEY_FALLBACKS: ${error}`))
  // A secret that is stored in a file has its former ones in a file next to it.
  if (!env['SECRET_KEY']) errors.push('SECRET_KEY_FALLBACKS: is only used together with SECRET_KEY, which is not set')
  return fallbacks.values
}

function readRateLimits(env: Environment, errors: string[]): RateLimits {
  const parsed = parseRateLimits(env['RATE_LIMITS'] || 'off')
  if ('value' in parsed) return parsed.value
  errors.push(...parsed.problems.map((problem) => `RATE_LIMITS: ${problem}`))
  return NO_LIMITS
}

function readWebhook(env: Environment, errors: string[]): WebhookSettings | undefined {
  const webhook = parseWebhook({ url: env['WEBHOOK_URL'], secret: env['WEBHOOK_SECRET'], events: env['WEBHOOK_EVENTS'] })
  errors.push(...webhook.errors)
  return webhook.settings
}

function readAdmin(env: Environment, errors: string[]): { readonly email: string; readonly password: string } | undefined {
  const read = createReader(env, errors)
  const email = read('ADMIN_EMAIL', parseAdminEmail)
  const password = read('ADMIN_PASSWORD', parseAdminPassword)
  if (env['ADMIN_EMAIL'] && !env['ADMIN_PASSWORD']) errors.push('ADMIN_PASSWORD: is required with ADMIN_EMAIL')
  if (env['ADMIN_PASSWORD'] && !env['ADMIN_EMAIL']) errors.push('ADMIN_EMAIL: is required with ADMIN_PASSWORD')
  return email === undefined || password === undefined ? undefined : { email, password }
}

/** Adds the settings of the .env file in the working folder to the environment. The environment takes precedence. */
export function withDotEnv(env: Environment, file = '.env'): Environment {
  return { ...readDotEnv(file), ...env }
}

function readDotEnv(file: string): Environment {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {}
    throw new ConfigError([`${file}: cannot be read (${codeOf(error)})`])
  }
}
