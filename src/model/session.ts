import { computed, entity, instant, integer, optional, text, type ValuesOf } from './entity.ts'

/** One login or registration. Its tokens work while its row exists and has not expired. */
export const SESSION_ROW = entity('sessions', {
  id: text,
  userId: integer,
  createdAt: instant,
  expiresAt: instant,
  // The address and the user agent of the login, so that people can recognise it. No rule depends on them.
  ip: optional(text),
  userAgent: optional(text),
})

const { id, createdAt, expiresAt, ip, userAgent } = SESSION_ROW.fields
/** A session as its owner sees it. */
export const SESSION = entity('sessions', {
  id,
  createdAt,
  // Up to five minutes out of date.
  lastSeenAt: computed(instant, 'coalesce(sessions.last_seen_at, sessions.created_at)'),
  expiresAt,
  ip,
  userAgent,
})

export type Session = ValuesOf<typeof SESSION_ROW.fields>
export type ListedSession = ValuesOf<typeof SESSION.fields>
