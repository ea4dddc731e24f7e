import type { Origin } from './caller.ts'
import { choice, entity, type Field, instant, integer, isoTime, orNull, text, type ValuesOf } from './entity.ts'

/** The kinds of security-relevant changes, which the audit trail contains. */
export const AUDITED_KINDS = [
  'user.registered',
  'user.verified',
  'user.edited',
  'user.password_changed',
  'user.password_reset',
  'user.promoted',
  'user.demoted',
  'user.plan_changed',
  'user.banned',
  'user.unbanned',
  'user.deleted',
  'user.imported',
  'invitation.created',
  'invitation.withdrawn',
  'session.created',
  'session.revoked',
  'login.failed',
  'factor.added',
  'factor.removed',
  'factor.reset',
  'factor.failed',
  'passkey.added',
  'passkey.removed',
  'provider.connected',
  'provider.disconnected',
  'key.created',
  'key.changed',
  'key.rotated',
  'key.revoked',
  'key.leaked',
  'secret.rotated',
  'data.changed',
  'data.exported',
  'data.erased',
  'audit.resealed',
] as const

export type AuditedKind = (typeof AUDITED_KINDS)[number]

/** `mail.requested` is only logged: it must not reveal whether the address has an account. */
export type EventKind = AuditedKind | 'mail.requested'

/** What a change reports. It never contains a value, password, token or hash. */
export type Change = {
  readonly kind: EventKind
  /** The user whose account changed. */
  readonly target?: number
  readonly keyId?: string
  readonly sessionId?: string
  /** The names of the fields that were set. */
  readonly changed?: readonly string[]
  readonly count?: number
  /** Where a leaked key was found. */
  readonly url?: string | undefined
}

/** A change with its time, the user who caused it, and where the request came from. */
export type Event = Change & Pick<Origin, 'via' | 'requestId' | 'ip'> & { readonly at: number; readonly actor: number | undefined }

export type AuditedEvent = Event & { readonly kind: AuditedKind }

/** What an event says besides its columns: names of fields, counts, the id of a session. */
export type EventDetail = {
  readonly session_id?: string | undefined
  readonly changed?: readonly string[] | undefined
  readonly count?: number | undefined
  readonly url?: string | undefined
}

const LAST_TIME = 8_640_000_000_000_000

/** The time of an event within the calendar: somebody may have changed it in the database, and the list still has to work. */
export function shownTime(at: number): number {
  return Math.max(-LAST_TIME, Math.min(at, LAST_TIME))
}

const eventTime: Field<number, string> = { ...instant, toJson: (at) => isoTime(shownTime(at)) }

/** A JSON object as text, unless somebody has changed it in the database. */
const eventDetail: Field<string | null, Record<string, unknown> | null> = {
  ...orNull(text),
  toJson(detail) {
    if (detail === null) return null
    try {
      const parsed: unknown = JSON.parse(detail)
      return typeof parsed === 'object' && parsed !== null ? { ...parsed } : { invalid: detail }
    } catch {
      return { invalid: detail }
    }
  },
}

/** An event as it is stored. */
export const EVENT = entity('events', {
  id: integer,
  at: eventTime,
  kind: text,
  actor: orNull(integer),
  via: choice<Origin['via']>('http', 'console', 'cli', 'start'),
  target: orNull(integer),
  keyId: orNull(text),
  ip: orNull(text),
  requestId: orNull(text),
  detail: eventDetail,
})

export type StoredEvent = ValuesOf<typeof EVENT.fields>

export function isAudited(event: Event): event is AuditedEvent {
  return event.kind !== 'mail.requested'
}
