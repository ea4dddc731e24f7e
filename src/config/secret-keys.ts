import { COMMAND } from '../shared/command.ts'
import type { Parsed } from './parsed.ts'

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

export type ParsedFallbacks = { readonly values: readonly Uint8Array[]; readonly errors: readonly string[] }

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
