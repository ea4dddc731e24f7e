import { rateLimitsText } from '../domain/values/rate-limits.ts'
import type { Config } from './load.ts'

/** A setting for people who may see that it is set, but never the value of a secret. */
type DescribedSetting = {
  readonly name: string
  readonly value: string | undefined
  readonly isSecret: boolean
  readonly isSet: boolean
}

const SECRET_NAME = /SECRET|PASSWORD|TOKEN|_KEY$|^(?:DATABASE|DATABASE_READ|SMTP|WEBHOOK)_URL$/
const WITH_CREDENTIALS = /:\/\/[^/]*@/

/**
 * The settings that a service runs with, by their names in the environment. Every field of the configuration appears, so that a new setting
 * cannot be forgotten; whatever looks like a secret has no value here.
 */
export function describeSettings({ database, admin, webhook, rateLimits, ...config }: Config): readonly DescribedSetting[] {
  const entries: (readonly [name: string, value: unknown])[] = [
    ...Object.entries(config).map(([field, value]) => [nameOf(field), value] as const),
    ['DATABASE_URL', database.kind === 'sqlite' ? `sqlite:${database.file}` : database.url],
    ['DATABASE_READ_URL', database.kind === 'postgres' ? database.replicaUrl : undefined],
    ['RATE_LIMITS', rateLimitsText(rateLimits)],
    ['ADMIN_EMAIL', admin?.email],
    ['ADMIN_PASSWORD', admin?.password],
    ['WEBHOOK_URL', webhook?.endpoint],
    ['WEBHOOK_SECRET', webhook && ''],
    ['WEBHOOK_EVENTS', webhook?.types],
  ]
  return entries.map(([name, value]) => describe(name, textOf(value))).sort((one, other) => (one.name < other.name ? -1 : 1))
}

function describe(name: string, value: string | undefined): DescribedSetting {
  // The URL of SQLite is the path of a file.
  const isSecret = (SECRET_NAME.test(name) && !value?.startsWith('sqlite:')) || WITH_CREDENTIALS.test(value ?? '')
  return { name, value: isSecret ? undefined : value, isSecret, isSet: value !== undefined }
}

/** `metricsEnabled` is `METRICS_ENABLED`. */
function nameOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (value instanceof Uint8Array) return ''
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(textOf).join(', ')
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Object.entries(value).map(([name, part]) => `${name}=${textOf(part)}`)
  return parts.length === 0 ? 'off' : parts.join(', ')
}
