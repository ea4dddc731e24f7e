import { isIP } from 'node:net'
import { parseEmail } from '../domain/values/email.ts'
import { isKeyPrefix, isPassword } from '../domain/values/limits.ts'
import { codePointLength, isCleanText, PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH, parseBooleanWord } from '../domain/values/text.ts'
import type { DatabaseTarget } from '../storage/database.ts'
import { parsePostgresUrl } from '../storage/postgres/url.ts'
import type { Parsed } from './parsed.ts'
import { parseSmtpServer } from './smtp-url.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

const LOG_LEVELS: readonly string[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] satisfies LogLevel[]
const HOST_NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/

const MAX_WORKERS = 128
const MAX_DAYS = 36_500

// An unquoted name must not contain a character that could end it or begin another address.
const MAILBOX = /^(?:(?:[^<>()[\]\\,;:@"]+|"[^"\\]+") ?<([^<>]+)>|([^<>]+))$/
const MAIL_ADDRESS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/

export function parseHost(text: string): Parsed<string> {
  const host = /^\[(.+)\]$/.exec(text)?.[1] ?? text
  if (isIP(host) > 0 || (host === text && HOST_NAME.test(host))) return { value: host }
  return { error: `should be a host name or an IP address, such as 127.0.0.1 or ::, is "${text}"` }
}

export function parsePort(text: string): Parsed<number> {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return { value: port }
  return { error: `should be a whole number from 0 to 65535, is "${text}"` }
}

export function parseWorkers(text: string): Parsed<number> {
  const count = Number(text)
  if (/^\d{1,3}$/.test(text) && count >= 1 && count <= MAX_WORKERS) return { value: count }
  return { error: `should be a whole number from 1 to ${MAX_WORKERS}, is "${text}"` }
}

export function parseDays(text: string): Parsed<number> {
  const days = Number(text)
  if (/^\d{1,5}$/.test(text) && days <= MAX_DAYS) return { value: days }
  return { error: `should be a whole number of days from 0 to ${MAX_DAYS}, is "${text}"` }
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
