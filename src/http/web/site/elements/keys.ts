import type { ApiKey } from '../../../../model/api-key.ts'
import { type Html, html } from '../../../../shared/html.ts'
import { ageOf, dateOf } from './format.ts'
import { badge, NEVER } from './tables.ts'

/** Whether a key works now. */
export function keyBadge({ isActive, expiresAt }: Pick<ApiKey, 'isActive' | 'expiresAt'>, now: number): Html {
  if (!isActive) return badge('bad', 'Disabled')
  return expiresAt !== undefined && expiresAt <= now ? badge('warn', 'Expired') : badge('good', 'Active')
}

/** The beginning of the secret or, for a key of an older version, of the id. */
export function keyPrefix({ prefix, id }: Pick<ApiKey, 'prefix' | 'id'>): Html {
  return html`<span class="mono">${prefix === undefined ? id.slice(0, 8) : `${prefix}…`}</span>`
}

/** The cells for Created, Expires and Last used. */
export function keyTimes({ createdAt, expiresAt, lastUsedAt }: Pick<ApiKey, 'createdAt' | 'expiresAt' | 'lastUsedAt'>, now: number) {
  const expires = expiresAt === undefined ? NEVER : dateOf(expiresAt)
  return [dateOf(createdAt), expires, lastUsedAt === undefined ? NEVER : ageOf(lastUsedAt, now)]
}
