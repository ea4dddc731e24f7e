import { computed, entity, integer, storedAs, text, type ValuesOf, without } from './entity.ts'

/** What one key has used on one day: days since 1970, in UTC. */
export const KEY_USAGE = entity('key_usage', { day: integer, userId: integer, keySeq: integer, allowed: integer, limited: integer })
/** What all processes have taken from one limit in its current window. */
export const LIMIT_WINDOW = entity('limit_windows', { subject: text, periodMs: integer, endsAt: integer, used: integer })

/** The end of a window, and what was taken from its limit until now. */
export const WINDOW_STATE = without(LIMIT_WINDOW, 'subject', 'periodMs')

export type WindowState = ValuesOf<typeof WINDOW_STATE.fields>
export type KeyUsage = ValuesOf<typeof KEY_USAGE.fields>
export type LimitWindow = ValuesOf<typeof LIMIT_WINDOW.fields>

/** The use of a day, of one key or of all keys of an account. */
export type DailyUse = Pick<KeyUsage, 'day' | 'allowed' | 'limited'>

/** A key and its owner, with what it has used lately: of a row that is joined with its user, and with sums as `used`. */
export const BUSY_KEY = entity('api_keys', {
  keyId: storedAs('id', text),
  name: text,
  ownerId: computed(integer, 'users.id'),
  ownerEmail: computed(text, 'users.email'),
  allowed: computed(integer, 'cast(used.allowed as bigint)'),
  limited: computed(integer, 'cast(used.limited as bigint)'),
})
export type BusyKey = ValuesOf<typeof BUSY_KEY.fields>

const DAY_MS = 86_400_000

export function dayOf(time: number): number {
  return Math.floor(time / DAY_MS)
}

/** When a day begins. */
export function startOfDay(day: number): number {
  return day * DAY_MS
}
