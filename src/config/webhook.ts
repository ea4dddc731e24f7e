import { isWebhookType, WEBHOOK_TYPES, type WebhookType } from '../model/webhook.ts'
import { COMMAND } from '../shared/program.ts'
import { type Parsed, type ParsedList, parseSecrets } from './values.ts'

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
export const ALL_EVENTS = 'all'

/** The messages do not repeat the URL: a token in it is a secret. */
export function parseWebhookUrl(text: string): Parsed<string> {
  const url = URL.parse(text)
  if (url === null || !/^https?:\/\/[^/\\]/i.test(text) || /[#\s\\]/.test(text))
    return { error: 'should be an http:// or https:// URL without fragment' }
  if (url.username || url.password)
    return { error: 'should be without user and password; the signature proves the sender, and a token may be part of the path or query' }
  return { value: url.href }
}

export function parseWebhookSecrets(text: string): ParsedList<readonly Uint8Array[]> {
  const secrets = text.trim().split(/\s+/)
  if (secrets.length === 1) {
    const parsed = parseSecret(text.trim())
    return 'value' in parsed ? { value: [parsed.value] } : { problems: [parsed.error] }
  }
  return parseSecrets(secrets, { max: MAX_SECRETS, separator: 'spaces', parse: parseSecret })
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

export function parseWebhookEvents(text: string): Parsed<readonly WebhookType[]> {
  if (text.trim() === ALL_EVENTS) return { value: WEBHOOK_TYPES }
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !isWebhookType(name))
  if (unknown === undefined) return { value: WEBHOOK_TYPES.filter((type) => names.includes(type)) }
  return { error: `should be all or a comma list of ${WEBHOOK_TYPES.join(', ')}; "${unknown}" is not one of them` }
}
