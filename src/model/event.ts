import type { Origin } from './caller.ts'

/** The kinds of security-relevant changes. They are those of the audit trail; `mail.requested` is only logged. */
export type EventKind =
  | 'user.registered'
  | 'user.verified'
  | 'user.edited'
  | 'user.password_changed'
  | 'user.password_reset'
  | 'user.promoted'
  | 'user.demoted'
  | 'user.banned'
  | 'user.unbanned'
  | 'user.deleted'
  | 'user.imported'
  | 'session.created'
  | 'session.revoked'
  | 'key.created'
  | 'key.changed'
  | 'key.rotated'
  | 'key.revoked'
  | 'key.leaked'
  | 'secret.rotated'
  | 'data.exported'
  | 'mail.requested'

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

/** A committed change: what happened, the user who caused it, and where the request came from. */
export type Event = Change & Pick<Origin, 'via' | 'requestId' | 'ip'> & { readonly actor: number | undefined }
