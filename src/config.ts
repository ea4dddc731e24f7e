import { parseEmail } from './domain/email.ts'
import { codePointLength, isCleanText, parseBooleanWord } from './domain/text.ts'

export type DatabaseTarget = { readonly kind: 'sqlite'; readonly file: string } | { readonly kind: 'postgres'; readonly url: string }

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

export type Config = Readonly<{
  host: string
  port: number
  database: DatabaseTarget
  /** Absent with SQLite alone: then it is made at the first start and kept beside the database file. */
  secretKey: Uint8Array | undefined
  baseUrl: string
  frontendUrl: string | undefined
  apiTitle: string
  metricsEnabled: boolean
  smtpUrl: string | undefined
  mailFrom: string
  admin: { readonly email: string; readonly password: string } | undefined
  corsOrigins: '*' | readonly string[]
  trustProxy: boolean
  logLevel: LogLevel
}>

/** Every setting that is wrong, each in a line that names it. */
export class ConfigFaults extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'ConfigFaults'
    this.faults = faults
  }
}

type Parsed<Value> = { readonly value: Value } | { readonly fault: string }
type Environment = Readonly<Record<string, string | undefined>>

const LOG_LEVELS: readonly string[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] satisfies LogLevel[]
const MIN_SECRET_BYTES = 32
const MIN_SECRET_VARIETY = 8
const SAMPLE_SECRET = /change.?me|your.?secret|secret.?key|replace.?(me|this)|example|password|0123456789|abcdefgh/i

/** Reads the settings from an environment; throws ConfigFaults with every fault at once. */
export function loadConfig(env: Environment): Config {
  const faults: string[] = []

  function read<Value>(name: string, fallback: Value, parse: (text: string) => Parsed<Value>): Value {
    const text = env[name]
    // `NAME=` in a file means "not set", as in most tools that read such files.
    if (text === undefined || text === '') return fallback
    const parsed = parse(text)
    if ('value' in parsed) return parsed.value
    faults.push(`${name}: ${parsed.fault}`)
    return fallback
  }

  const port = read('PORT', 8000, parsePort)
  const database = read<DatabaseTarget>('DATABASE_URL', { kind: 'sqlite', file: 'data/latchkey.db' }, parseDatabaseUrl)
  const secretKey = read('SECRET_KEY', undefined, parseSecretKey)
  if (database.kind === 'postgres' && !env['SECRET_KEY']) {
    faults.push('SECRET_KEY: is required with PostgreSQL; make one with `npm run latchkey -- secret generate`')
  }
  const config: Config = {
    host: read('HOST', '127.0.0.1', parseHost),
    port,
    database,
    secretKey,
    baseUrl: read('BASE_URL', `http://localhost:${port}`, parseHttpUrl),
    frontendUrl: read('FRONTEND_URL', undefined, parseHttpUrl),
    apiTitle: read('API_TITLE', 'Latchkey', parseTitle),
    metricsEnabled: read('METRICS_ENABLED', false, parseBoolean),
    smtpUrl: read('SMTP_URL', undefined, parseSmtpUrl),
    mailFrom: read('MAIL_FROM', 'Latchkey <noreply@localhost>', parseMailbox),
    admin: readAdmin(),
    corsOrigins: read<'*' | readonly string[]>('CORS_ORIGINS', '*', parseOrigins),
    trustProxy: read('TRUST_PROXY', false, parseBoolean),
    logLevel: read<LogLevel>('LOG_LEVEL', 'info', parseLogLevel),
  }
  if (faults.length > 0) throw new ConfigFaults(faults)
  return Object.freeze(config)

  function readAdmin(): Config['admin'] {
    const email = read('ADMIN_EMAIL', undefined, parseAdminEmail)
    const password = read('ADMIN_PASSWORD', undefined, parseAdminPassword)
    if (env['ADMIN_EMAIL'] && !env['ADMIN_PASSWORD']) faults.push('ADMIN_PASSWORD: is required with ADMIN_EMAIL')
    if (env['ADMIN_PASSWORD'] && !env['ADMIN_EMAIL']) faults.push('ADMIN_EMAIL: is required with ADMIN_PASSWORD')
    return email === undefined || password === undefined ? undefined : { email, password }
  }
}

function parseHost(text: string): Parsed<string> {
  if (/^[A-Za-z0-9.:_-]+$/.test(text)) return { value: text }
  return { fault: `should be a host name or an IP address, such as 127.0.0.1 or ::, is "${text}"` }
}

function parsePort(text: string): Parsed<number> {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return { value: port }
  return { fault: `should be a whole number from 0 to 65535, is "${text}"` }
}

function parseBoolean(text: string): Parsed<boolean> {
  const value = parseBooleanWord(text)
  return value === undefined ? { fault: `should be true or false, is "${text}"` } : { value }
}

// A database URL holds a password, so that a fault never repeats it.
function parseDatabaseUrl(text: string): Parsed<DatabaseTarget> {
  const file = /^sqlite:(?:\/\/(?=\/))?([^?#]+)$/.exec(text)?.[1]
  if (file !== undefined && file !== ':memory:' && !file.startsWith('//')) return { value: { kind: 'sqlite', file } }
  // Several hosts, separated by commas, are allowed: the driver tries them in turn.
  if (/^postgres(?:ql)?:\/\/[^/?#\s]+\/[^/?#\s]+(?:\?\S*)?$/.test(text)) return { value: { kind: 'postgres', url: text } }
  return { fault: 'should be sqlite:path/to/file.db or postgres://user:password@host:port/database' }
}

function parseSecretKey(text: string): Parsed<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  const advice = 'make one with `npm run latchkey -- secret generate`'
  if (bytes.length < MIN_SECRET_BYTES) {
    return { fault: `should be at least ${MIN_SECRET_BYTES} bytes, has ${bytes.length}; ${advice}` }
  }
  if (SAMPLE_SECRET.test(text) || new Set(text).size < MIN_SECRET_VARIETY) {
    return { fault: `is a sample or can be guessed; ${advice}` }
  }
  return { value: bytes }
}

function parseHttpUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && !url.username && !url.password && !/[?#\s]/.test(text)
  if (isPlain) return { value: url.href.replace(/\/+$/, '') }
  return { fault: 'should be an http:// or https:// URL without user, query and fragment' }
}

function parseTitle(text: string): Parsed<string> {
  const title = text.trim()
  if (title.length > 0 && title.length <= 100 && isCleanText(title)) return { value: title }
  return { fault: 'should be 1 to 100 characters in one line' }
}

function parseSmtpUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== '') return { value: text }
  return { fault: 'should be smtp://user:password@host:port or smtps://…; special characters in user and password are percent-encoded' }
}

function parseMailbox(text: string): Parsed<string> {
  const mailbox = /^(?:[^<>\r\n"]+ )?<([^<>\s@]+@[^<>\s@]+)>$/.exec(text)?.[1] ?? text
  if (/^[^<>\s@,;]+@[^<>\s@,;]+$/.test(mailbox)) return { value: text }
  return { fault: `should be an address, or Name <address>, is "${text}"` }
}

function parseAdminEmail(text: string): Parsed<string> {
  const email = parseEmail(text)
  return email === undefined ? { fault: `should be an e-mail address, is "${text}"` } : { value: email }
}

function parseAdminPassword(text: string): Parsed<string> {
  const length = codePointLength(text)
  return length >= 8 && length <= 256 ? { value: text } : { fault: `should be 8 to 256 characters, has ${length}` }
}

function parseOrigins(text: string): Parsed<'*' | readonly string[]> {
  if (text.trim() === '*') return { value: '*' }
  const origins = text.split(',').map((origin) => origin.trim().replace(/\/$/, ''))
  const wrong = origins.find((origin) => !/^https?:$/.test(URL.parse(origin)?.protocol ?? '') || URL.parse(origin)?.origin !== origin)
  if (wrong === undefined) return { value: origins }
  return { fault: `should be * or a comma list of origins such as https://app.example.com; "${wrong}" is none` }
}

function parseLogLevel(text: string): Parsed<LogLevel> {
  const level = text.toLowerCase()
  // The list holds every LogLevel and nothing else.
  if (LOG_LEVELS.includes(level)) return { value: level as LogLevel }
  return { fault: `should be one of ${LOG_LEVELS.join(', ')}, is "${text}"` }
}
