import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseEnv } from 'node:util'
import { plansText } from '../domain/values/plans.ts'
import { rateLimitsText } from '../domain/values/rate-limits.ts'
import type { RelyingParty } from '../model/factor.ts'
import { codeOf } from '../shared/errors.ts'
import { COMMAND } from '../shared/program.ts'
import type { DatabaseTarget } from '../storage/database.ts'
import { PROVIDER_PARTS, providerSetting, providersOf } from './providers.ts'
import { FIELDS, nameOf, readSettings, SETTING_GROUPS, SETTINGS, type SettingValues } from './settings.ts'
import type { Environment } from './values.ts'
import { ALL_EVENTS, type WebhookSettings } from './webhook.ts'

export type { Environment } from './values.ts'
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

/** Reads the settings from an environment; throws ConfigError with all errors. */
export function loadConfig(env: Environment) {
  const errors: string[] = []
  const values = readSettings(env, errors)
  const { databaseUrl, databaseReadUrl, adminEmail, adminPassword, webhookUrl, webhookSecret, webhookEvents, ...rest } = values
  const { passkeyRpId, passkeyOrigins = [], signInProviders = [], ...others } = rest
  const baseUrl = others.baseUrl ?? `http://localhost:${others.port}`
  const relyingParty = relyingPartyOf({ ...others, baseUrl, id: passkeyRpId, origins: passkeyOrigins }, errors)
  const providers = providersOf(signInProviders, env, errors)
  errors.push(...findContradictions(env, values))
  // The settings of one provider come after the list of all.
  const placeOf = (error: string) =>
    FIELDS.findIndex((field) => error.startsWith(`${nameOf(field)}:`) || (field === 'signInProviders' && error.startsWith('PROVIDER_')))
  if (errors.length > 0) throw new ConfigError(errors.toSorted((one, other) => placeOf(one) - placeOf(other)))
  return Object.freeze({
    ...others,
    database: Object.freeze<DatabaseTarget>(
      databaseUrl.kind === 'sqlite' || databaseReadUrl === undefined ? databaseUrl : { ...databaseUrl, replicaUrl: databaseReadUrl },
    ),
    secretKeyFallbacks: Object.freeze(others.secretKeyFallbacks ?? []),
    baseUrl,
    // Where passkeys work; undefined where browsers accept none.
    relyingParty,
    providers: Object.freeze(providers),
    corsOrigins: Object.freeze(others.corsOrigins),
    admin: adminEmail && adminPassword ? Object.freeze({ email: adminEmail, password: adminPassword }) : undefined,
    webhook: webhookUrl && webhookSecret ? webhookOf(webhookUrl, webhookSecret, webhookEvents) : undefined,
  })
}

function webhookOf(url: string, secrets: WebhookSettings['secrets'], types: WebhookSettings['types']): WebhookSettings {
  return Object.freeze({ url, endpoint: createHash('sha256').update(url).digest('hex'), secrets, types })
}

/** What is wrong with settings that are valid alone. */
function findContradictions(env: Environment, settings: SettingValues): readonly string[] {
  const { databaseUrl, databaseReadUrl, signInProviders, accountPagesEnabled } = settings
  const isSet = (name: string) => Boolean(env[name])
  const isPostgres = databaseUrl.kind === 'postgres'
  const generate = `create one with \`${COMMAND} secret generate`
  const rules: readonly (readonly [isBroken: boolean, error: string])[] = [
    [!isPostgres && databaseReadUrl !== undefined, 'DATABASE_READ_URL: a replica needs PostgreSQL in DATABASE_URL'],
    [isPostgres && !isSet('SECRET_KEY'), `SECRET_KEY: is required with PostgreSQL; ${generate}\``],
    // A secret that is stored in a file has its former ones in a file next to it.
    [isSet('SECRET_KEY_FALLBACKS') && !isSet('SECRET_KEY'), `SECRET_KEY_FALLBACKS: ${isUnused('SECRET_KEY')}`],
    [isSet('ADMIN_EMAIL') && !isSet('ADMIN_PASSWORD'), 'ADMIN_PASSWORD: is required with ADMIN_EMAIL'],
    [isSet('ADMIN_PASSWORD') && !isSet('ADMIN_EMAIL'), 'ADMIN_EMAIL: is required with ADMIN_PASSWORD'],
    // The way back from a provider leads to them.
    [
      signInProviders !== undefined && !accountPagesEnabled,
      'SIGN_IN_PROVIDERS: needs the account pages; remove ACCOUNT_PAGES_ENABLED=false',
    ],
    [isSet('WEBHOOK_URL') && !isSet('WEBHOOK_SECRET'), `WEBHOOK_SECRET: is required with WEBHOOK_URL; ${generate} --webhook\``],
    [isSet('WEBHOOK_SECRET') && !isSet('WEBHOOK_URL'), 'WEBHOOK_URL: is required with WEBHOOK_SECRET'],
    [(env['WEBHOOK_EVENTS'] || ALL_EVENTS).trim() !== ALL_EVENTS && !isSet('WEBHOOK_URL'), `WEBHOOK_EVENTS: ${isUnused('WEBHOOK_URL')}`],
  ]
  return rules.filter(([isBroken]) => isBroken).map(([, error]) => error)
}

function isUnused(other: string): string {
  return `is only used together with ${other}, which is not set`
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

const SECRET_NAME = /SECRET|PASSWORD|TOKEN|_KEY$|^(?:DATABASE|DATABASE_READ|SMTP|WEBHOOK)_URL$/
const WITH_CREDENTIALS = /:\/\/[^/]*@/

/**
 * The settings that a service runs with, by their names in the environment, in groups. Whatever looks like a secret has no value here; of a
 * URL that may contain one, only the host.
 */
export function describeSettings({ database, admin, webhook, relyingParty, providers, ...config }: Config) {
  const values: Readonly<Record<keyof SettingValues, unknown>> = {
    ...config,
    databaseUrl: database.kind === 'sqlite' ? `sqlite:${database.file}` : database.url,
    databaseReadUrl: database.kind === 'postgres' ? database.replicaUrl : undefined,
    rateLimits: rateLimitsText(config.rateLimits),
    plans: config.plans && plansText(config.plans),
    passkeyRpId: relyingParty?.id,
    passkeyOrigins: relyingParty?.origins,
    signInProviders: providers.map(({ name }) => name),
    adminEmail: admin?.email,
    adminPassword: admin?.password,
    webhookUrl: webhook?.url,
    webhookSecret: webhook?.secrets,
    webhookEvents: webhook?.types,
  }
  const own = FIELDS.map((field) => ({
    ...describe(nameOf(field), textOf(values[field])),
    group: SETTINGS[field].group,
    meaning: SETTINGS[field].meaning,
  }))
  const ofProviders = providers.flatMap(({ name, clientId, clientSecret, issuer, label }) => {
    const parts = { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, ISSUER: issuer, LABEL: label }
    // The names of this object.
    return (Object.keys(parts) as (keyof typeof parts)[]).map((part) => ({
      ...describe(providerSetting(name, part), parts[part]),
      group: SETTINGS.signInProviders.group,
      meaning: PROVIDER_PARTS[part].meaning,
    }))
  })
  return [...own, ...ofProviders].sort((one, other) => SETTING_GROUPS.indexOf(one.group) - SETTING_GROUPS.indexOf(other.group))
}

function describe(name: string, value: string | undefined) {
  // The URL of SQLite is the path of a file.
  const isSecret = (SECRET_NAME.test(name) && !value?.startsWith('sqlite:')) || WITH_CREDENTIALS.test(value ?? '')
  return { name, value: isSecret ? hostOf(value) : value, isSecret, isSet: value !== undefined }
}

/** Where a URL leads, without its path and its credentials; undefined for any other secret. */
function hostOf(value: string | undefined): string | undefined {
  if (value === undefined || !URL.canParse(value)) return undefined
  const { protocol, host } = new URL(value)
  return host === '' || !value.startsWith(`${protocol}//`) ? undefined : `${protocol}//${host}`
}

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.join(', ')
  return String(value)
}

type PasskeySettings = {
  readonly baseUrl: string
  readonly frontendUrl: string | undefined
  readonly apiTitle: string
  /** PASSKEY_RP_ID and PASSKEY_ORIGINS. */
  readonly id: string | undefined
  readonly origins: readonly string[]
}

/** Where passkeys work. Undefined where browsers accept none: for an IP address, and without TLS for anything but localhost. */
function relyingPartyOf(settings: PasskeySettings, errors: string[]): RelyingParty | undefined {
  const { baseUrl, frontendUrl, apiTitle, id, origins } = settings
  const { hostname, protocol, origin } = new URL(baseUrl)
  if (id !== undefined && id !== hostname && !(hostname.endsWith(`.${id}`) && id.includes('.')))
    errors.push(`PASSKEY_RP_ID: should be ${hostname}, the host of BASE_URL, or a parent domain of it, is "${id}"`)
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (isIP(hostname.replace(/^\[(.*)\]$/, '$1')) > 0 || (protocol !== 'https:' && !isLocal)) return undefined
  const others = frontendUrl === undefined ? origins : [new URL(frontendUrl).origin, ...origins]
  return { id: id ?? hostname, name: apiTitle, origins: [...new Set([origin, ...others])] }
}
