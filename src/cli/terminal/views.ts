import { placeText } from '../../domain/audit/chain.ts'
import { type ApiKey, KEY } from '../../model/api-key.ts'
import type { AuditVerification } from '../../model/audit.ts'
import { isoTime } from '../../model/entity.ts'
import { EVENT, type StoredEvent } from '../../model/event.ts'
import type { OutboxMail } from '../../model/mail.ts'
import { type ListedSession, SESSION } from '../../model/session.ts'
import { USER, type User } from '../../model/user.ts'
import type { OutboxWebhook } from '../../model/webhook.ts'
import { counted } from '../../shared/text.ts'
import type { Format } from './output.ts'

/** The JSON has the names of the API, so that scripts need one set of names only. */
export const USER_FORMAT: Format<User> = {
  columns: {
    ID: ({ id }) => String(id),
    EMAIL: ({ email }) => email,
    'FIRST NAME': ({ firstName }) => firstName,
    'LAST NAME': ({ lastName }) => lastName,
    ROLE: ({ role }) => role,
    STATE: ({ banned, verified }) => [verified ? 'verified' : 'unverified', ...(banned ? ['banned'] : [])].join(', '),
  },
  json: USER.toJson,
}

export function userLabel({ id, email }: User): string {
  return `user ${id} (${email})`
}

export const KEY_FORMAT: Format<ApiKey> = {
  columns: {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    PREFIX: ({ prefix }) => prefix ?? '',
    STATE: keyState,
    ACCESS: ({ access }) => access,
    CREATED: ({ createdAt }) => timeText(createdAt),
    EXPIRES: ({ expiresAt }) => timeText(expiresAt),
    'LAST USED': ({ lastUsedAt }) => timeText(lastUsedAt),
    'RETIRING UNTIL': ({ retiringUntil }) => timeText(retiringUntil),
    SCOPES: ({ scopes }) => scopes.join(', '),
  },
  json: KEY.toJson,
}

function keyState({ isActive, expiresAt }: ApiKey): string {
  if (!isActive) return 'disabled'
  return expiresAt !== undefined && expiresAt <= Date.now() ? 'expired' : 'active'
}

function timeText(time: number | undefined): string {
  return time === undefined ? '' : isoTime(time)
}

export function keyLabel({ id, name }: ApiKey, owner: User): string {
  return `key ${id} (${name}) of ${userLabel(owner)}`
}

export const SESSION_FORMAT: Format<ListedSession> = {
  columns: {
    ID: ({ id }) => id,
    'LOGGED IN': ({ createdAt }) => isoTime(createdAt),
    'LAST SEEN': ({ lastSeenAt }) => isoTime(lastSeenAt),
    IP: ({ ip }) => ip ?? '',
    PROGRAM: ({ userAgent }) => userAgent ?? '',
  },
  json: SESSION.toJson,
}

/** A key with its secret, which is shown once. */
export const NEW_KEY_FORMAT: Format<ApiKey & { readonly secret: string }> = {
  columns: { ID: ({ id }) => id, NAME: ({ name }) => name, KEY: ({ secret }) => secret },
  json: ({ secret, ...key }) => ({ ...KEY_FORMAT.json(key), key: secret }),
}

export function outboxState({ failedAt, isClaimed, attempts }: Pick<OutboxMail, 'failedAt' | 'isClaimed' | 'attempts'>): string {
  if (failedAt !== undefined) return 'failed'
  if (isClaimed) return 'sending'
  return attempts === 0 ? 'waiting' : 'retrying'
}

export function mailLabel({ id, kind, recipient }: OutboxMail): string {
  return `mail ${id} (${kind}, to ${recipient})`
}

export const MAIL_FORMAT: Format<OutboxMail> = {
  columns: {
    ID: ({ id }) => String(id),
    KIND: ({ kind }) => kind,
    TO: ({ recipient }) => recipient,
    STATE: outboxState,
    ATTEMPTS: ({ attempts }) => String(attempts),
    REQUESTED: ({ requestedAt }) => isoTime(requestedAt),
    'LAST ERROR': ({ lastError }) => lastError ?? '',
  },
  json: (mail) => ({
    id: mail.id,
    kind: mail.kind,
    recipient: mail.recipient,
    state: outboxState(mail),
    attempts: mail.attempts,
    requested_at: isoTime(mail.requestedAt),
    due_at: mail.failedAt === undefined ? isoTime(mail.dueAt) : null,
    failed_at: mail.failedAt === undefined ? null : isoTime(mail.failedAt),
    last_error: mail.lastError ?? null,
  }),
}

export const EVENT_FORMAT: Format<StoredEvent> = {
  columns: {
    ID: ({ id }) => String(id),
    AT: ({ at }) => EVENT.fields.at.toJson(at),
    KIND: ({ kind }) => kind,
    ACTOR: ({ actor }) => String(actor ?? ''),
    VIA: ({ via }) => via,
    TARGET: ({ target }) => String(target ?? ''),
    IP: ({ ip }) => ip ?? '',
    KEY: ({ keyId }) => keyId ?? '',
    DETAIL: ({ detail }) => detail ?? '',
  },
  json: EVENT.toJson,
}

export function webhookLabel({ id, type, userId }: OutboxWebhook): string {
  return `webhook ${id} (${type}, user ${userId})`
}

export const WEBHOOK_FORMAT: Format<OutboxWebhook> = {
  columns: {
    ID: ({ id }) => String(id),
    TYPE: ({ type }) => type,
    USER: ({ userId }) => String(userId),
    STATE: outboxState,
    ATTEMPTS: ({ attempts }) => String(attempts),
    OCCURRED: ({ occurredAt }) => timeText(occurredAt),
    'LAST ERROR': ({ lastError }) => lastError ?? '',
  },
  json: (webhook) => ({
    id: webhook.id,
    webhook_id: webhook.messageId,
    type: webhook.type,
    user_id: webhook.userId,
    key_id: webhook.keyId ?? null,
    session_id: webhook.sessionId ?? null,
    state: outboxState(webhook),
    attempts: webhook.attempts,
    occurred_at: timeText(webhook.occurredAt),
    due_at: webhook.failedAt === undefined ? timeText(webhook.dueAt) : null,
    failed_at: timeText(webhook.failedAt) || null,
    last_error: webhook.lastError ?? null,
  }),
}

export function problemText({ problem, sealed }: AuditVerification): string {
  const { eventId, position, reason = '' } = problem ?? {}
  const event = eventId === undefined ? undefined : `event ${eventId}`
  const place = position === undefined ? undefined : `position ${position}`
  const where = [event, place].filter((part) => part !== undefined).join(', ')
  return `the audit trail was tampered with at ${where}: ${reason}; ${counted(sealed, 'event')} before it ${sealed === 1 ? 'is' : 'are'} in order`
}

export function verificationLines({ sealed, unsealed, pruned, erased, late, head, containsExpected }: AuditVerification): string[] {
  return [
    `The audit trail is in order: ${counted(sealed, 'sealed event')}, ${unsealed} waiting to be sealed.`,
    ...(pruned > 0 ? [`Removed after their retention: ${counted(pruned, 'event')}.`] : []),
    ...(erased > 0 ? [`With erased address and details: ${counted(erased, 'event')}.`] : []),
    ...(late > 0 ? [`Sealed more than an hour after they happened: ${counted(late, 'event')}.`] : []),
    ...(containsExpected ? ['The chain contains the expected end.'] : []),
    `The chain ends at ${placeText(head)}`,
  ]
}

export function verificationJson({ problem, sealed, unsealed, pruned, erased, late, head, containsExpected }: AuditVerification): object {
  return {
    valid: problem === undefined,
    problem:
      problem === undefined ? null : { event_id: problem.eventId ?? null, position: problem.position ?? null, reason: problem.reason },
    sealed,
    unsealed,
    pruned,
    erased,
    late,
    head: { position: head.position, hash: head.hash },
    ...(containsExpected && { contains_expected: true }),
  }
}
