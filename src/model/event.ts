import type { Origin } from './caller.ts'

/** What a security-relevant change did. The kinds are those of the audit trail; `mail.requested` is logged only. */
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
  | 'session.created'
  | 'session.revoked'
  | 'key.created'
  | 'key.changed'
  | 'key.revoked'
  | 'mail.requested'

/** What a change reports about itself. It never holds a value, password, token or hash. */
export type Change = {
  readonly kind: EventKind
  /** The user whose account changed. */
  readonly target?: number
  readonly keyId?: string
  /** The names of the fields that were set. */
  readonly changed?: readonly string[]
  readonly count?: number
}

/** A change that was committed: what happened, who caused it, and where the request came from. */
export type Event = Change & Pick<Origin, 'via' | 'requestId' | 'ip'> & { readonly actor: number | undefined }
