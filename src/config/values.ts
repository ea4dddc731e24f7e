import { isIP } from 'node:net'
import { parseEmail } from '../domain/values/email.ts'
import { isKeyPrefix, isPassword } from '../domain/values/limits.ts'
import { codePointLength, isCleanText, PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH, parseBooleanWord } from '../domain/values/text.ts'
import { COMMAND } from '../shared/program.ts'
import type { DatabaseTarget } from '../storage/database.ts'
import { parsePostgresUrl } from '../storage/postgres/url.ts'

/** The result of parsing one setting: its value, or an error message. The message of a setting that holds a secret does not repeat it. */
export type Parsed<Value> = { readonly value: Value } | { readonly error: string }

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

const LOG_LEVELS: readonly string[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] satisfies LogLevel[]
const HOST_NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/

// An unquoted name must not contain a character that could end it or begin another address.
const MAILBOX = /^(?:(?:[^<>()[\]\\,;:@"]+|"[^"\\]+") ?<([^<>]+)>|([^<>]+))$/
const MAIL_ADDRESS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/

export function parseHost(text: string): Parsed<string> {
  const host = /^\[(.+)\]$/.exec(text)?.[1] ?? text
  if (isIP(host) > 0 || (host === text && HOST_NAME.test(host))) return { value: host }
  return { error: `should be a host name or an IP address, such as 127.0.0.1 or ::, is "${text}"` }
}

export const parsePort = wholeNumber(0, 65_535)
export const parseWorkers = wholeNumber(1, 128)
export const parseDays = wholeNumber(0, 36_500, ' of days')

function wholeNumber(min: number, max: number, unit = ''): (text: string) => Parsed<number> {
  return (text) => {
    const value = Number(text)
    if (/^\d{1,5}$/.test(text) && value >= min && value <= max) return { value }
    return { error: `should be a whole number${unit} from ${min} to ${max}, is "${text}"` }
  }
}

/** The value is a secret, so that no error contains it. */
export function parseToken(text: string): Parsed<string> {
  if (/^[\x21-\x7e]{16,200}$/.test(text)) return { value: text }
  return { error: 'should be 16 to 200 visible ASCII characters without spaces' }
}

export function parseBoolean(text: string): Parsed<boolean> {
  const value = parseBooleanWord(text)
  return value === undefined ? { error: `should be true or false, is "${text}"` } : { value }
}

export function parseDatabaseUrl(text: string): Parsed<DatabaseTarget> {
  const file = /^sqlite:(?:\/\/(?=\/))?([^?#]*[^?#/\\\s])$/.exec(text)?.[1]
  if (file !== undefined && file !== ':memory:' && !file.startsWith('//')) return { value: { kind: 'sqlite', file } }
  if (parsePostgresUrl(text) !== undefined) return { value: { kind: 'postgres', url: text } }
  return {
    error:
      'should be sqlite:path/to/file.db or postgres://user:password@host:port/database; special characters in user and password are percent-encoded; ' +
      '?sslmode= is disable, prefer, require, verify-ca or verify-full',
  }
}

export function parseReplicaUrl(text: string): Parsed<string> {
  if (parsePostgresUrl(text) !== undefined) return { value: text }
  return { error: 'should be postgres://user:password@host:port/database, as in DATABASE_URL' }
}

export function parseHttpUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  const isPlain = /^https?:\/\/[^/\\]/i.test(text) && !/[?#\s\\]/.test(text)
  if (url !== null && isPlain && !url.username && !url.password) return { value: url.href.replace(/\/+$/, '') }
  return { error: 'should be an http:// or https:// URL without user, query and fragment' }
}

export function parseTitle(text: string): Parsed<string> {
  const title = text.trim()
  if (title.length > 0 && codePointLength(title) <= 100 && isCleanText(title)) return { value: title }
  return { error: 'should be 1 to 100 characters in one line' }
}

export function parseSmtpUrl(text: string): Parsed<string> {
  const parsed = parseSmtpServer(text)
  return 'value' in parsed ? { value: text } : parsed
}

export function parseMailFrom(text: string): Parsed<string> {
  const [, named, bare] = MAILBOX.exec(text) ?? []
  if (isCleanText(text) && MAIL_ADDRESS.test(named ?? bare ?? '')) return { value: text }
  return { error: `should be an address, Name <address> or "Name, Inc." <address>, is ${JSON.stringify(text)}` }
}

export function parseAdminEmail(text: string): Parsed<string> {
  const email = parseEmail(text)
  return email === undefined ? { error: `should be an e-mail address, is "${text}"` } : { value: email }
}

export function parseAdminPassword(text: string): Parsed<string> {
  if (isPassword(text)) return { value: text }
  return { error: `should be ${PASSWORD_MIN_LENGTH} to ${PASSWORD_MAX_LENGTH} characters, has ${codePointLength(text)}` }
}

export function parseBlocklist(text: string): Parsed<string | undefined> {
  if (!isCleanText(text)) return { error: 'should be none, common or the path of a file' }
  return { value: text.toLowerCase() === 'none' ? undefined : text }
}

/** A path is kept as it is written; whether the file is usable shows when the service reads it. */
export function parsePath(text: string): Parsed<string> {
  return isCleanText(text) ? { value: text } : { error: 'should be a path in one line' }
}

export function parseColor(text: string): Parsed<string> {
  return /^#[0-9a-f]{6}$/i.test(text) ? { value: text.toLowerCase() } : { error: `should be #rrggbb, such as #1f5eff, is "${text}"` }
}

export function parseOrigins(text: string): Parsed<'*' | readonly string[]> {
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

export function parseLogLevel(text: string): Parsed<LogLevel> {
  const level = text.toLowerCase()
  // The list contains exactly the members of LogLevel.
  if (LOG_LEVELS.includes(level)) return { value: level as LogLevel }
  return { error: `should be one of ${LOG_LEVELS.join(', ')}, is "${text}"` }
}

export function parseKeyPrefix(text: string): Parsed<string> {
  return isKeyPrefix(text) ? { value: text } : { error: `should be 2 to 16 characters of a-z and 0-9, is "${text}"` }
}

/** `required`: nothing is sent without TLS. `offered`: STARTTLS is used if the server offers it. `none`: clear text. */
type SmtpTls = 'required' | 'offered' | 'none'

type SmtpServer = {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (`smtps://`), not after STARTTLS. */
  readonly implicitTls: boolean
  readonly tls: SmtpTls
  readonly login: { readonly user: string; readonly password: string } | undefined
}

const FORM = 'should be smtp://user:password@host:port or smtps://…; special characters in user and password are percent-encoded'
const TLS_FORM = 'should be without parameters other than ?tls=required or ?tls=none'

export function parseSmtpServer(text: string): Parsed<SmtpServer> {
  const url = parseForm(text)
  if (url === undefined) return { error: FORM }
  const tls = parseTls(url)
  if ('error' in tls) return tls
  const implicitTls = url.protocol === 'smtps:'
  if (implicitTls && tls.value === 'none') return { error: 'should be smtp:// with ?tls=none, because smtps:// is always encrypted' }
  const login = url.username === '' ? undefined : { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
  return {
    value: {
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? (implicitTls ? 465 : 587) : Number(url.port),
      implicitTls,
      tls: tls.value ?? (implicitTls || login ? 'required' : 'offered'),
      login,
    },
  }
}

function parseForm(text: string): URL | undefined {
  const url = URL.parse(text)
  const isPlain = /^smtps?:\/\/[^\s#\\]+$/i.test(text) && !/%(?![0-9A-Fa-f]{2})/.test(text)
  if (url === null || !isPlain || url.hostname === '' || !/^\/?$/.test(url.pathname)) return undefined
  // If the query contains an `@`, it is the rest of a password with an unencoded `?`. The error must not repeat it.
  const isMisread = url.search.includes('@') || (url.username === '' && url.password !== '')
  return isMisread ? undefined : url
}

/** An unknown parameter is an error, because it may be a misspelt parameter that was meant to require encryption. */
function parseTls({ searchParams }: URL): Parsed<'required' | 'none' | undefined> {
  const unknown = [...searchParams.keys()].find((name) => name !== 'tls')
  if (unknown !== undefined) return { error: `${TLS_FORM}, has "${unknown}"` }
  const [tls, ...others] = searchParams.getAll('tls')
  if (others.length === 0 && (tls === undefined || tls === 'required' || tls === 'none')) return { value: tls }
  return { error: TLS_FORM }
}

const MIN_SECRET_BYTES = 32
const MIN_SECRET_VARIETY = 8
const MAX_FALLBACKS = 3
// Placeholders that documentation uses for a secret.
const SAMPLE_SECRET =
  /change.?me|change.?this|your.{0,12}(?:secret|key)|replace.?(?:me|this|with)|insert.{0,12}here|placeholder|not.?secure|insecure/i
// Keys from popular tutorials. They look random, but they are public.
const WELL_KNOWN_SECRETS = new Set([
  'a-string-secret-at-least-256-bits-long',
  'super-secret-jwt-token-with-at-least-32-characters-long',
  '09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7',
  '404E635266556A586E3272357538782F413F4428472B4B6250645367566B5970',
])
const REPEATED_UNIT = /^(.{1,16})\1+$/s

type ParsedFallbacks = { readonly values: readonly Uint8Array[]; readonly errors: readonly string[] }

export function parseSecretKey(text: string): Parsed<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  const advice = `create one with \`${COMMAND} secret generate\``
  if (bytes.length < MIN_SECRET_BYTES) {
    return { error: `should be at least ${MIN_SECRET_BYTES} bytes, has ${bytes.length}; ${advice}` }
  }
  if (isGuessable(text)) return { error: `is a sample or can be guessed; ${advice}` }
  return { value: bytes }
}

/** Parses SECRET_KEY_FALLBACKS, a list of former secrets. The rules for SECRET_KEY apply to each of them. */
export function parseFallbacks(text: string, current: string | undefined): ParsedFallbacks {
  const secrets = text.split(',')
  if (secrets.length > MAX_FALLBACKS)
    return { values: [], errors: [`should be at most ${MAX_FALLBACKS} secrets, separated by commas, has ${secrets.length}`] }
  const parsed = secrets.map((secret, index) => parseFallback(secret, current, secrets.slice(0, index)))
  return {
    values: parsed.flatMap((secret) => ('value' in secret ? [secret.value] : [])),
    errors: parsed.flatMap((secret, index) => ('error' in secret ? [`secret ${index + 1} of ${secrets.length} ${secret.error}`] : [])),
  }
}

function parseFallback(secret: string, current: string | undefined, earlier: readonly string[]): Parsed<Uint8Array> {
  // A trailing space is part of a SECRET_KEY. In this list it is usually a mistake, which would silently end every session.
  if (secret !== secret.trim()) return { error: 'should be without spaces around it; separate secrets by a comma alone' }
  if (secret === current) return { error: 'is the same as SECRET_KEY; list former secrets only' }
  if (earlier.includes(secret)) return { error: 'is listed twice' }
  const parsed = parseSecretKey(secret)
  // Leaves out the advice to create a new secret: only the former one can verify its tokens.
  return 'error' in parsed ? { error: parsed.error.split(';')[0] ?? parsed.error } : parsed
}

function isGuessable(text: string): boolean {
  return WELL_KNOWN_SECRETS.has(text) || SAMPLE_SECRET.test(text) || REPEATED_UNIT.test(text) || new Set(text).size < MIN_SECRET_VARIETY
}
