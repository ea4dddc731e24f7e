import { codePointLength, isCleanText } from '../domain/values/text.ts'
import { COMMAND } from '../shared/program.ts'
import type { DatabaseTarget } from '../storage/database.ts'
import { parsePostgresUrl } from '../storage/postgres/url.ts'

/** The result of parsing one setting: its value, or an error message. The message of a setting that holds a secret does not repeat it. */
export type Parsed<Value> = { readonly value: Value } | { readonly error: string }
/** The same for a list, in which each entry may be wrong. */
export type ParsedList<Value> = { readonly value: Value } | { readonly problems: readonly string[] }

export type Environment = Readonly<Record<string, string | undefined>>

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** The messages do not repeat the text, which may be a secret. */
export function visible(min: number, max: number): (text: string) => Parsed<string> {
  return (text) => {
    if (/^[\x21-\x7e]+$/.test(text) && text.length >= min && text.length <= max) return { value: text }
    return { error: `should be ${min} to ${max} visible ASCII characters without spaces` }
  }
}

/** A name that pages show. */
export function oneLine(max: number): (text: string) => Parsed<string> {
  return (text) => {
    const name = text.trim()
    if (name !== '' && isCleanText(name) && codePointLength(name) <= max) return { value: name }
    return { error: `should be 1 to ${max} characters in one line` }
  }
}

/** An http:// or https:// URL without user, query and fragment. */
export function plainUrl(text: string): URL | undefined {
  const url = URL.parse(text)
  const isPlain = /^https?:\/\/[^/\\]/i.test(text) && !/[?#\s\\]/.test(text)
  return url !== null && isPlain && !url.username && !url.password ? url : undefined
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

export function parseSmtpUrl(text: string): Parsed<string> {
  const parsed = parseSmtpServer(text)
  return 'value' in parsed ? { value: text } : parsed
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
export function parseFallbacks(text: string, env: Environment): ParsedList<readonly Uint8Array[]> {
  const parse = (secret: string): Parsed<Uint8Array> => {
    // A trailing space is part of a SECRET_KEY. In this list it is usually a mistake, which would silently end every session.
    if (secret !== secret.trim()) return { error: 'should be without spaces around it; separate secrets by a comma alone' }
    if (secret === env['SECRET_KEY']) return { error: 'is the same as SECRET_KEY; list former secrets only' }
    const parsed = parseSecretKey(secret)
    // Leaves out the advice to create a new secret: only the former one can verify its tokens.
    return 'error' in parsed ? { error: parsed.error.split(';')[0] ?? parsed.error } : parsed
  }
  return parseSecrets(text.split(','), { max: MAX_FALLBACKS, separator: 'commas', parse })
}

type SecretList = { readonly max: number; readonly separator: string; readonly parse: (secret: string) => Parsed<Uint8Array> }

export function parseSecrets(secrets: readonly string[], { max, separator, parse }: SecretList): ParsedList<readonly Uint8Array[]> {
  const count = secrets.length
  if (count > max) return { problems: [`should be at most ${max} secrets, separated by ${separator}, has ${count}`] }
  const parsed = secrets.map((secret, index) => (secrets.indexOf(secret) < index ? { error: 'is listed twice' } : parse(secret)))
  const problems = parsed.flatMap((secret, index) => ('error' in secret ? [`secret ${index + 1} of ${count} ${secret.error}`] : []))
  return problems.length > 0 ? { problems } : { value: parsed.flatMap((secret) => ('value' in secret ? [secret.value] : [])) }
}

function isGuessable(text: string): boolean {
  return WELL_KNOWN_SECRETS.has(text) || SAMPLE_SECRET.test(text) || REPEATED_UNIT.test(text) || new Set(text).size < MIN_SECRET_VARIETY
}
