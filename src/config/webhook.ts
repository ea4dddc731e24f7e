import { createHash } from 'node:crypto'
import type { WebhookType } from '../model/webhook.ts'
import { isWebhookType, WEBHOOK_TYPES } from '../model/webhook.ts'
import { COMMAND } from '../shared/program.ts'
import type { Parsed } from './values.ts'

export type WebhookSettings = {
  readonly url: string
  /** A digest of the URL, which may contain a token. It names the receiver in the database. */
  readonly endpoint: string
  /** Each signs every webhook. */
  readonly secrets: readonly Uint8Array[]
  readonly types: readonly WebhookType[]
}

const SECRET_PREFIX = 'whsec_'
const MIN_SECRET_BYTES = 24
const MIN_SECRET_VARIETY = 8
const MAX_SECRETS = 4
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
// The example of the Standard Webhooks specification and of its libraries.
const WELL_KNOWN_SECRETS = new Set(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'])
const ALL = 'all'

/** Parses WEBHOOK_URL, WEBHOOK_SECRET and WEBHOOK_EVENTS. Each error starts with the name of its setting. */
export function parseWebhook(texts: {
  readonly url: string | undefined
  readonly secret: string | undefined
  readonly events: string | undefined
}): { readonly settings: WebhookSettings | undefined; readonly errors: readonly string[] } {
  const url = texts.url ? parseUrl(texts.url) : undefined
  const secrets = texts.secret ? parseSecrets(texts.secret) : undefined
  const types = parseTypes(texts.events || ALL)
  const errors = [
    ...errorOf('WEBHOOK_URL', url),
    ...(secrets?.errors ?? []).map((error) => `WEBHOOK_SECRET: ${error}`),
    ...errorOf('WEBHOOK_EVENTS', types),
    ...(url && !secrets ? [`WEBHOOK_SECRET: is required with WEBHOOK_URL; create one with \`${COMMAND} secret generate --webhook\``] : []),
    ...(secrets && !url ? ['WEBHOOK_URL: is required with WEBHOOK_SECRET'] : []),
    ...(texts.events && texts.events.trim() !== ALL && !url
      ? ['WEBHOOK_EVENTS: is only used together with WEBHOOK_URL, which is not set']
      : []),
  ]
  if (!url || !secrets || 'error' in url || 'error' in types) return { settings: undefined, errors }
  const endpoint = createHash('sha256').update(url.value).digest('hex')
  return { settings: Object.freeze({ url: url.value, endpoint, secrets: secrets.values, types: types.value }), errors }
}

function errorOf(name: string, parsed: Parsed<unknown> | undefined): string[] {
  return parsed && 'error' in parsed ? [`${name}: ${parsed.error}`] : []
}

/** The messages do not repeat the URL: a token in it is a secret. */
function parseUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (url === null || !/^https?:\/\/[^/\\]/i.test(text) || /[#\s\\]/.test(text))
    return { error: 'should be an http:// or https:// URL without fragment' }
  if (url.username || url.password)
    return { error: 'should be without user and password; the signature proves the sender, and a token may be part of the path or query' }
  return { value: url.href }
}

function parseSecrets(text: string): { readonly values: readonly Uint8Array[]; readonly errors: readonly string[] } {
  const secrets = text.trim().split(/\s+/)
  if (secrets.length > MAX_SECRETS)
    return { values: [], errors: [`should be at most ${MAX_SECRETS} secrets, separated by spaces, has ${secrets.length}`] }
  const parsed = secrets.map((secret, index) => (secrets.indexOf(secret) < index ? { error: 'is listed twice' } : parseSecret(secret)))
  const which = (index: number) => (secrets.length === 1 ? '' : `secret ${index + 1} of ${secrets.length} `)
  return {
    values: parsed.flatMap((secret) => ('value' in secret ? [secret.value] : [])),
    errors: parsed.flatMap((secret, index) => ('error' in secret ? [which(index) + secret.error] : [])),
  }
}

function parseSecret(text: string): Parsed<Uint8Array> {
  const advice = `create one with \`${COMMAND} secret generate --webhook\``
  const encoded = text.slice(SECRET_PREFIX.length)
  if (!text.startsWith(SECRET_PREFIX) || !BASE64.test(encoded))
    return { error: `should be ${SECRET_PREFIX} and base64 with its padding; ${advice}` }
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.length < MIN_SECRET_BYTES) return { error: `should be at least ${MIN_SECRET_BYTES} bytes, has ${bytes.length}; ${advice}` }
  if (WELL_KNOWN_SECRETS.has(text) || new Set(bytes).size < MIN_SECRET_VARIETY) return { error: `is a sample or can be guessed; ${advice}` }
  return { value: new Uint8Array(bytes) }
}

function parseTypes(text: string): Parsed<readonly WebhookType[]> {
  if (text.trim() === ALL) return { value: WEBHOOK_TYPES }
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !isWebhookType(name))
  if (unknown === undefined) return { value: WEBHOOK_TYPES.filter((type) => names.includes(type)) }
  return { error: `should be all or a comma list of ${WEBHOOK_TYPES.join(', ')}; "${unknown}" is not one of them` }
}
