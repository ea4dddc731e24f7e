import { placeText } from '../../domain/audit/chain.ts'
import { type ApiKey, KEY } from '../../model/api-key.ts'
import type { AuditVerification } from '../../model/audit.ts'
import { isoTime } from '../../model/entity.ts'
import { EVENT, type StoredEvent } from '../../model/event.ts'
import type { Factors } from '../../model/factor.ts'
import type { OutboxMail, ShownMail } from '../../model/mail.ts'
import { type ListedSession, SESSION } from '../../model/session.ts'
import { type OwnAccount, USER, type User } from '../../model/user.ts'
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

/** One account, with what it has besides its password. */
export const SHOWN_USER_FORMAT: Format<User & Pick<OwnAccount, 'language'> & { readonly factors: Factors }> = {
  columns: {
    ...USER_FORMAT.columns,
    LANGUAGE: ({ language }) => language ?? '',
    'SECOND FACTOR': ({ factors }) => factorText(factors),
  },
  json: ({ factors, language, ...user }) => ({ ...USER.toJson(user), second_factor: factorsJson(factors), language: language ?? null }),
}

export function factorsJson({ totp, passkeys, recoveryCodes }: Factors) {
  return { totp, passkeys, recovery_codes: recoveryCodes }
}

export const NO_FACTOR = 'none'

/** Such as `codes of an app, 2 passkeys`. */
export function factorText({ totp, passkeys, recoveryCodes }: Factors): string {
  const parts = [
    ...(totp ? ['codes of an app'] : []),
    ...(recoveryCodes > 0 ? [counted(recoveryCodes, 'recovery code')] : []),
    ...(passkeys > 0 ? [counted(passkeys, 'passkey')] : []),
  ]
  return parts.join(', ') || NO_FACTOR
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

export function timeText(time: number | undefined): string {
  return time === undefined ? '' : isoTime(time)
}

export const SESSION_FORMAT: Format<ListedSession> = {
  columns: {
    ID: ({ id }) => id,
    'LOGGED IN': ({ createdAt }) => isoTime(createdAt),
    'LAST SEEN': ({ lastSeenAt }) => isoTime(lastSeenAt),
    METHOD: ({ method }) => method,
    'SECOND FACTOR': ({ secondFactor }) => (secondFactor ? 'yes' : 'no'),
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

type Delivery = Pick<OutboxMail, 'id' | 'failedAt' | 'isClaimed' | 'attempts' | 'dueAt' | 'lastError'>

function deliveryState({ failedAt, isClaimed, attempts }: Delivery): string {
  if (failedAt !== undefined) return 'failed'
  if (isClaimed) return 'sending'
  return attempts === 0 ? 'waiting' : 'retrying'
}

/** What the outbox of mails and that of webhooks show alike: the delivery of each entry, and the time at which it began. */
type OutboxView<Entry> = {
  readonly columns: Format<Entry>['columns']
  json(entry: Entry): object
  /** The lines of `show` that come before the delivery. */
  lines(entry: Entry): readonly string[]
  readonly timeName: string
  time(entry: Entry): number
}

function outboxFormat<Entry extends Delivery>({ columns, json, lines, timeName, time }: OutboxView<Entry>) {
  return {
    columns: {
      ID: ({ id }: Entry) => String(id),
      ...columns,
      STATE: deliveryState,
      ATTEMPTS: ({ attempts }: Entry) => String(attempts),
      [timeName.toUpperCase()]: (entry: Entry) => isoTime(time(entry)),
      'LAST ERROR': ({ lastError }: Entry) => lastError ?? '',
    },
    json: (entry: Entry) => ({
      id: entry.id,
      ...json(entry),
      state: deliveryState(entry),
      attempts: entry.attempts,
      [`${timeName.toLowerCase()}_at`]: isoTime(time(entry)),
      due_at: entry.failedAt === undefined ? isoTime(entry.dueAt) : null,
      failed_at: timeText(entry.failedAt) || null,
      last_error: entry.lastError ?? null,
    }),
    lines: (entry: Entry) => [
      ...lines(entry),
      `State       ${deliveryState(entry)}`,
      `${timeName.padEnd(10)}  ${isoTime(time(entry))}`,
      `Attempts    ${entry.attempts}`,
      entry.failedAt === undefined ? `Next try    ${isoTime(entry.dueAt)}` : `Given up    ${isoTime(entry.failedAt)}`,
      `Last error  ${entry.lastError ?? 'none'}`,
    ],
  }
}

export const MAIL_FORMAT = outboxFormat<OutboxMail>({
  columns: { KIND: ({ kind }) => kind, TO: ({ recipient }) => recipient },
  json: ({ kind, recipient }) => ({ kind, recipient }),
  lines: ({ id, kind, recipient }) => [`Mail        ${id}, ${kind}`, `To          ${recipient}`],
  timeName: 'Requested',
  time: ({ requestedAt }) => requestedAt,
})

/** What became of a mail. */
export const MAIL_RECORD_FORMAT: Format<ShownMail> = {
  columns: {
    REQUESTED: ({ requestedAt }) => isoTime(requestedAt),
    KIND: ({ kind }) => kind,
    STATE: ({ state }) => state,
    ATTEMPTS: ({ attempts }) => String(attempts),
    'LAST CHANGE': ({ at }) => isoTime(at),
    DETAIL: ({ answer, errors }) => answer ?? errors.at(-1)?.error ?? '',
  },
  json: ({ kind, recipient, state, requestedAt, at, attempts, errors, answer }) => ({
    kind,
    recipient,
    state,
    requested_at: isoTime(requestedAt),
    changed_at: isoTime(at),
    attempts,
    errors: errors.map(({ error, firstAt, lastAt, count }) => ({
      error,
      first_at: isoTime(firstAt),
      last_at: isoTime(lastAt),
      count,
    })),
    answer: answer ?? null,
  }),
}

export const WEBHOOK_FORMAT = outboxFormat<OutboxWebhook>({
  columns: { TYPE: ({ type }) => type, USER: ({ userId }) => String(userId) },
  json: (webhook) => ({
    webhook_id: webhook.messageId,
    type: webhook.type,
    user_id: webhook.userId,
    key_id: webhook.keyId ?? null,
    session_id: webhook.sessionId ?? null,
  }),
  lines: ({ id, type, messageId, userId, keyId, sessionId }) => [
    `Webhook     ${id}, ${type}`,
    `webhook-id  ${messageId}`,
    `User        ${userId}`,
    ...(keyId === undefined ? [] : [`Key         ${keyId}`]),
    ...(sessionId === undefined ? [] : [`Session     ${sessionId}`]),
  ],
  timeName: 'Occurred',
  time: ({ occurredAt }) => occurredAt,
})

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
