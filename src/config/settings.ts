import { isIP } from 'node:net'
import type { SecondFactorRule } from '../domain/identity/requirements.ts'
import { parseEmail } from '../domain/values/email.ts'
import {
  DEFAULT_KEY_PREFIX,
  isKeyPrefix,
  isPassword,
  isScope,
  isScopeToken,
  MAX_SCOPES,
  SCOPE_MAX_LENGTH,
} from '../domain/values/limits.ts'
import { parsePlans } from '../domain/values/plans.ts'
import { parseRateLimits } from '../domain/values/rate-limits.ts'
import { codePointLength, isCleanText, PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH, parseBooleanWord } from '../domain/values/text.ts'
import { ALL_LANGUAGES, isLanguage, type Languages } from '../model/language.ts'
import { parsePostgresUrl } from '../storage/postgres/url.ts'
import { parseProviderNames } from './providers.ts'
import {
  type Environment,
  type LogLevel,
  oneLine,
  type Parsed,
  type ParsedList,
  parseDatabaseUrl,
  parseFallbacks,
  parseSecretKey,
  parseSmtpUrl,
  plainUrl,
  visible,
} from './values.ts'
import { parseWebhookEvents, parseWebhookSecrets, parseWebhookUrl } from './webhook.ts'

type Parse<Value> = (text: string, env: Environment) => Parsed<Value> | ParsedList<Value>

type Setting<Value> = {
  readonly group: SettingGroup
  readonly parse: Parse<Value>
  /** The text that has the same effect as no text. */
  readonly standard: string | undefined
  /** One line of Markdown, for docs/settings.md and .env.example. */
  readonly meaning: string
  /** What docs/settings.md says where there is no `standard`. */
  readonly absence: string
}

type Define = {
  <Value>(parse: Parse<Value>, standard: string, meaning: string): Setting<Value>
  <Value>(parse: Parse<Value>, standard: undefined, meaning: string, absence?: string): Setting<Value | undefined>
}

/** What settings are about, in the order in which the console shows them. */
export const SETTING_GROUPS = [
  'Address and pages',
  'Database and secrets',
  'Mail',
  'Sign-in and security',
  'API keys',
  'Webhooks',
  'Operation',
] as const
type SettingGroup = (typeof SETTING_GROUPS)[number]

function settingOf(group: SettingGroup): Define {
  return <Value>(parse: Parse<Value>, standard: string | undefined, meaning: string, absence = 'none') => ({
    group,
    parse,
    standard,
    meaning,
    absence,
  })
}

const pages = settingOf('Address and pages')
const data = settingOf('Database and secrets')
const mail = settingOf('Mail')
const signIn = settingOf('Sign-in and security')
const keys = settingOf('API keys')
const webhooks = settingOf('Webhooks')
const operation = settingOf('Operation')

/** Every setting, in the order of the documentation. A field is the name of its setting in the environment: `baseUrl` is `BASE_URL`. */
export const SETTINGS = {
  host: pages(parseHost, '127.0.0.1', 'the address to listen on; `0.0.0.0` or `::` for all'),
  port: pages(wholeNumber(0, 65_535), '8000', 'the port to listen on; `0` for any free port'),
  databaseUrl: data(
    parseDatabaseUrl,
    'sqlite:data/latchkey.db',
    '`sqlite:path/to/file.db` or `postgres://user:password@host:port/database`; see [the database](#the-database)',
  ),
  databaseReadUrl: data(parseReplicaUrl, undefined, 'a PostgreSQL replica; see [a replica for reads](running.md#a-replica-for-reads)'),
  secretKey: data(
    parseSecretKey,
    undefined,
    'signs every token; at least 32 bytes, from `npm run latchkey -- secret generate`. Required with PostgreSQL',
    'generated at the first start and stored beside the SQLite file',
  ),
  secretKeyFallbacks: data(
    parseFallbacks,
    undefined,
    'up to three other secrets, separated by commas, while `SECRET_KEY` is [replaced](operations.md#replacing-secret_key): their tokens stay valid, and nothing is signed with them',
  ),
  baseUrl: pages(
    parseHttpUrl,
    undefined,
    'the public address of the service; the only source of links in mails',
    '`http://localhost:{PORT}`',
  ),
  frontendUrl: pages(parseHttpUrl, undefined, 'your own pages; a reset link redirects to `{FRONTEND_URL}/reset-password?code=…`'),
  returnOrigins: pages(
    parseOriginList,
    undefined,
    'the origins of your product besides that of `FRONTEND_URL`, separated by commas: the account pages [sign people in for them](integration.md#sign-people-in)',
  ),
  apiTitle: pages(oneLine(100), 'Latchkey', 'the name in pages, mails, explorers and metrics'),
  brandColor: pages(parseColor, undefined, 'the colour of buttons and links, `#rrggbb`; see [branding](branding.md)'),
  brandLogo: pages(parsePath, undefined, 'the logo of pages and mails, an SVG or PNG file of at most 64 KB; mails show a PNG'),
  languages: pages(
    parseLanguages,
    ALL_LANGUAGES.join(','),
    'the languages of account pages and mails, separated by commas; the first is for everybody whose language is not among them. See [languages](branding.md#languages)',
  ),
  templatesDir: mail(parsePath, undefined, 'a folder with [mail templates](branding.md#mail-templates)'),
  metricsEnabled: operation(parseBoolean, 'false', 'enables `/metrics`, which needs no credentials: block it in the proxy'),
  consoleEnabled: pages(parseBoolean, 'true', 'the web [console](console.md) for admins, at `/console/`'),
  accountPagesEnabled: pages(parseBoolean, 'true', 'the web pages where users manage their own accounts, at `/account/`'),
  smtpUrl: mail(parseSmtpUrl, undefined, '`smtp://user:password@host:587` or `smtps://…`; see [the mail server](#the-mail-server)'),
  mailFrom: mail(parseMailFrom, 'Latchkey <noreply@localhost>', 'the sender of mails'),
  devMailToken: mail(
    visible(16, 200),
    undefined,
    'lets programs on the same machine read mails at [`/dev/mail`](branding.md#mails-in-end-to-end-tests); at least 16 random characters. Without it, each start generates and prints one',
  ),
  adminEmail: signIn(parseAdminEmail, undefined, 'the address of [the first admin](#the-first-admin), who is created at the start'),
  adminPassword: signIn(parseAdminPassword, undefined, 'the password of that admin if the account is created'),
  corsOrigins: pages(parseOrigins, '*', 'the origins whose pages may call the API, separated by commas, without credentials'),
  trustProxy: pages(
    parseBoolean,
    'false',
    'use the request id of the proxy, and the last entry of `X-Forwarded-For` as the client address; see [proxies](running.md#proxies-and-tls)',
  ),
  rateLimits: signIn(parseRateLimits, 'off', '`standard`, or a list such as `login:ip=30/m`; see [rate limits](#rate-limits)'),
  passwordBlocklist: signIn(parseBlocklist, 'none', '`common`, or a file; see [breached passwords](#breached-passwords)'),
  securityNotices: signIn(parseBoolean, 'false', 'mails users about changes of the security of their accounts; see [notices](#notices)'),
  secondFactor: signIn(
    oneOf<SecondFactorRule>('optional', 'admins', 'everybody'),
    'optional',
    'who needs a second factor: `optional`, `admins` or `everybody`; see [second factor](#second-factor)',
  ),
  passkeyRpId: signIn(
    parseDomain,
    undefined,
    'the domain that passkeys belong to: the host of `BASE_URL` or a parent domain; see [passkeys](#passkeys)',
    'the host of `BASE_URL`',
  ),
  passkeyOrigins: signIn(parseOriginList, undefined, 'further origins whose pages may ask for passkeys, separated by commas'),
  emailSignIn: signIn(
    parseBoolean,
    'false',
    'people can log in with a link or a code that is mailed to them; see [sign-in by mail](#sign-in-by-mail)',
  ),
  signInProviders: signIn(
    parseProviderNames,
    undefined,
    'the other providers that people can sign in with, separated by commas, such as `google,github,acme`; see [providers](providers.md)',
  ),
  confirmEmailChanges: signIn(
    parseBoolean,
    'false',
    'a new address takes effect when the link that is mailed to it is opened; see [changes of an address](#changes-of-an-address)',
  ),
  selfDeletion: signIn(parseBoolean, 'false', 'enables `DELETE /users/me`; see [deleting the own account](#deleting-the-own-account)'),
  webhookUrl: webhooks(parseWebhookUrl, undefined, 'where events are sent; see [webhooks](webhooks.md)'),
  webhookSecret: webhooks(
    parseWebhookSecrets,
    undefined,
    'signs webhooks: `whsec_` and base64 of at least 24 bytes, from `latchkey secret generate --webhook`. Required with `WEBHOOK_URL`. Several, separated by spaces, while it is [replaced](webhooks.md#replace-the-secret)',
  ),
  webhookEvents: webhooks(parseWebhookEvents, 'all', 'the [types](webhooks.md#types) of events that are sent, separated by commas'),
  keyPrefix: keys(parseKeyPrefix, DEFAULT_KEY_PREFIX, 'the prefix of new API keys, 2 to 16 of `a-z0-9`; others stay valid'),
  keyScopes: keys(
    parseScopes,
    undefined,
    'the scopes that new API keys may have, separated by commas; without it, any. See [back ends](integration.md#back-ends)',
  ),
  plans: keys(
    parsePlans,
    undefined,
    'the plans of accounts and their limits, such as `free=60/m,1000/d pro=600/m`; the first is the default. See [plans](integration.md#plans-and-limits)',
  ),
  auditRetentionDays: operation(
    wholeNumber(0, 36_500, ' of days'),
    '365',
    'days that [the audit trail](running.md#audit-trail) is kept; 0 keeps everything',
  ),
  logLevel: operation(
    oneOf<LogLevel>('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'info',
    '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`',
  ),
  workers: operation(wholeNumber(1, 128), '1', 'the number of processes that share the port; one for each core that the service may use'),
}

type Field = keyof typeof SETTINGS

export type SettingValues = { readonly [Name in Field]: (typeof SETTINGS)[Name] extends Setting<infer Value> ? Value : never }

// Object.keys returns the fields as text.
export const FIELDS = Object.keys(SETTINGS) as readonly Field[]

export function nameOf(field: Field): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}

/** Reads every setting; adds a line for each that is wrong with its name and the reason. */
export function readSettings(env: Environment, errors: string[]): SettingValues {
  // The cast is safe: each field has the value that its own `parse` returns.
  return Object.fromEntries(FIELDS.map((field) => [field, readSetting(SETTINGS[field], nameOf(field), env, errors)])) as SettingValues
}

function readSetting(row: Setting<unknown>, name: string, env: Environment, errors: string[]): unknown {
  // `NAME=` in a file means "not set", as in most tools that read such files.
  const text = env[name] || row.standard
  if (text === undefined) return undefined
  const parsed = row.parse(text, env)
  if ('value' in parsed) return parsed.value
  errors.push(...('error' in parsed ? [parsed.error] : parsed.problems).map((problem) => `${name}: ${problem}`))
  // The checks of settings that belong together need a value.
  return readSetting(row, name, {}, errors)
}

const HOST_NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/

// An unquoted name must not contain a character that could end it or begin another address.
const MAILBOX = /^(?:(?:[^<>()[\]\\,;:@"]+|"[^"\\]+") ?<([^<>]+)>|([^<>]+))$/
const MAIL_ADDRESS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/

function parseHost(text: string): Parsed<string> {
  const host = /^\[(.+)\]$/.exec(text)?.[1] ?? text
  if (isIP(host) > 0 || (host === text && HOST_NAME.test(host))) return { value: host }
  return { error: `should be a host name or an IP address, such as 127.0.0.1 or ::, is "${text}"` }
}

function wholeNumber(min: number, max: number, unit = ''): (text: string) => Parsed<number> {
  return (text) => {
    const value = Number(text)
    if (/^\d{1,5}$/.test(text) && value >= min && value <= max) return { value }
    return { error: `should be a whole number${unit} from ${min} to ${max}, is "${text}"` }
  }
}

function parseBoolean(text: string): Parsed<boolean> {
  const value = parseBooleanWord(text)
  return value === undefined ? { error: `should be true or false, is "${text}"` } : { value }
}

function parseReplicaUrl(text: string): Parsed<string> {
  if (parsePostgresUrl(text) !== undefined) return { value: text }
  return { error: 'should be postgres://user:password@host:port/database, as in DATABASE_URL' }
}

function parseHttpUrl(text: string): Parsed<string> {
  const url = plainUrl(text)
  if (url !== undefined) return { value: url.href.replace(/\/+$/, '') }
  return { error: 'should be an http:// or https:// URL without user, query and fragment' }
}

function parseMailFrom(text: string): Parsed<string> {
  const [, named, bare] = MAILBOX.exec(text) ?? []
  if (isCleanText(text) && MAIL_ADDRESS.test(named ?? bare ?? '')) return { value: text }
  return { error: `should be an address, Name <address> or "Name, Inc." <address>, is ${JSON.stringify(text)}` }
}

function parseAdminEmail(text: string): Parsed<string> {
  const email = parseEmail(text)
  return email === undefined ? { error: `should be an e-mail address, is "${text}"` } : { value: email }
}

function parseAdminPassword(text: string): Parsed<string> {
  if (isPassword(text)) return { value: text }
  return { error: `should be ${PASSWORD_MIN_LENGTH} to ${PASSWORD_MAX_LENGTH} characters, has ${codePointLength(text)}` }
}

function parseBlocklist(text: string): Parsed<string | undefined> {
  if (!isCleanText(text)) return { error: 'should be none, common or the path of a file' }
  return { value: text.toLowerCase() === 'none' ? undefined : text }
}

/** A path is kept as it is written; whether the file is usable shows when the service reads it. */
function parsePath(text: string): Parsed<string> {
  return isCleanText(text) ? { value: text } : { error: 'should be a path in one line' }
}

function parseColor(text: string): Parsed<string> {
  return /^#[0-9a-f]{6}$/i.test(text) ? { value: text.toLowerCase() } : { error: `should be #rrggbb, such as #1f5eff, is "${text}"` }
}

function parseOrigins(text: string): Parsed<'*' | readonly string[]> {
  if (text.trim() === '*') return { value: '*' }
  const items = text.split(',').map((item) => item.trim())
  const wrong = items.find((item) => originOf(item) === undefined)
  if (wrong === undefined) return { value: [...new Set(items.flatMap((item) => originOf(item) ?? []))] }
  return { error: `should be * or a comma list of origins such as https://app.example.com; "${wrong}" is not an origin` }
}

/** The origin as a browser sends it: in lower case, without a default port. */
function originOf(text: string): string | undefined {
  const url = URL.parse(text)
  return url !== null && /^https?:\/\/[^/\\?#@\s*]+\/?$/i.test(text) ? url.origin : undefined
}

function oneOf<Word extends string>(...words: readonly Word[]): Parse<Word> {
  return (text) => {
    const word = words.find((one) => one === text.toLowerCase())
    return word === undefined ? { error: `should be one of ${words.join(', ')}, is "${text}"` } : { value: word }
  }
}

function parseOriginList(text: string): Parsed<readonly string[]> {
  const parsed = parseOrigins(text)
  if ('error' in parsed) return { error: parsed.error.replace('* or ', '') }
  return parsed.value === '*' ? { error: 'should be a comma list of origins, is "*"' } : { value: parsed.value }
}

function parseLanguages(text: string): Parsed<Languages> {
  const [first, ...others] = text.split(',').map((language) => language.trim().toLowerCase())
  const isRepeated = first !== undefined && new Set([first, ...others]).size <= others.length
  if (first !== undefined && isLanguage(first) && others.every(isLanguage) && !isRepeated) return { value: [first, ...others] }
  return { error: `should be some of ${ALL_LANGUAGES.join(', ')}, each once, separated by commas; is "${text}"` }
}

function parseDomain(text: string): Parsed<string> {
  const domain = text.toLowerCase()
  if (HOST_NAME.test(domain) && isIP(domain) === 0) return { value: domain }
  return { error: `should be a domain such as example.com, is "${text}"` }
}

function parseKeyPrefix(text: string): Parsed<string> {
  return isKeyPrefix(text) ? { value: text } : { error: `should be 2 to 16 characters of a-z and 0-9, is "${text}"` }
}

function parseScopes(text: string): Parsed<readonly string[]> {
  const scopes = [...new Set(text.split(',').map((scope) => scope.trim()))]
  if (scopes.length > MAX_SCOPES) return { error: `should be at most ${MAX_SCOPES} scopes, has ${scopes.length}` }
  const wrong = scopes.find((scope) => !isScope(scope) || !isScopeToken(scope))
  if (wrong === undefined) return { value: scopes }
  const rule = `1 to ${SCOPE_MAX_LENGTH} ASCII characters without spaces, quotes and backslashes`
  return { error: `should be scopes of ${rule}, separated by commas; "${wrong}" is not one` }
}
