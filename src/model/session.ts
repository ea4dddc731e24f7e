import { computed, entity, type Field, flag, instant, integer, optional, text, type ValuesOf } from './entity.ts'
import type { SignInMethod } from './factor.ts'
import { USER_FACTOR } from './user.ts'

const method: Field<SignInMethod> = text

/** One login or registration. Its tokens work while its row exists and has not expired. */
export const SESSION_ROW = entity('sessions', {
  id: text,
  userId: integer,
  createdAt: instant,
  expiresAt: instant,
  // The address and the user agent of the login, so that people can recognise it. No rule depends on them.
  ip: optional(text),
  userAgent: optional(text),
  method,
  // Whether it was opened with a second factor, or confirmed with one later.
  secondFactor: flag,
})

const { id, createdAt, expiresAt, ip, userAgent, secondFactor } = SESSION_ROW.fields
/** A session as its owner sees it. */
export const SESSION = entity('sessions', {
  id,
  createdAt,
  // Up to five minutes out of date.
  lastSeenAt: computed(instant, 'coalesce(sessions.last_seen_at, sessions.created_at)'),
  expiresAt,
  ip,
  userAgent,
  method,
  secondFactor,
})

/** What every request reads of its session, and whether its user has a second factor. */
export const SESSION_PROOF = entity('sessions', {
  hasFactor: USER_FACTOR.fields.hasFactor,
  secondFactor,
  // When its owner last showed who they are.
  confirmedAt: computed(instant, 'coalesce(sessions.confirmed_at, sessions.created_at)'),
})

export type Session = ValuesOf<typeof SESSION_ROW.fields>
export type SessionProof = ValuesOf<typeof SESSION_PROOF.fields>
export type ListedSession = ValuesOf<typeof SESSION.fields>
