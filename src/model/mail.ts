import { choice, computed, entity, type Field, flag, instant, integer, optional, text, type ValuesOf } from './entity.ts'
import { ALL_LANGUAGES, type Language } from './language.ts'

/**
 * Mails with a link that carries a token. `email_change` goes to the new address of an account, `invitation` to an address without an
 * account, the others to the present address of an account.
 */
export const LINK_MAIL_KINDS = ['verify', 'reset', 'email_change', 'sign_in', 'invitation'] as const
/** Mails about a change of an account, to the address that the account had then. */
export const NOTICE_KINDS = [
  'password_changed',
  'email_changed',
  'admin_role',
  'key_leaked',
  'factor_added',
  'factor_removed',
  'factor_reset',
  'passkey_added',
  'passkey_removed',
  'provider_connected',
  'provider_disconnected',
  'recovery_code_used',
] as const
/** Every mail that the service sends. A kind also has its texts (delivery/mail/texts). */
export const MAIL_KINDS = [...LINK_MAIL_KINDS, ...NOTICE_KINDS] as const

export type LinkMailKind = (typeof LINK_MAIL_KINDS)[number]
export type NoticeKind = (typeof NOTICE_KINDS)[number]
export type MailKind = LinkMailKind | NoticeKind

export function isNoticeKind(kind: MailKind): kind is NoticeKind {
  return NOTICE_KINDS.some((notice) => notice === kind)
}

/** What a mail or a webhook has in common with the others that one process at a time sends, under a lease. */
export const QUEUED_FIELDS = {
  id: integer,
  // The time of the latest request for it.
  requestedAt: instant,
  // The number of earlier attempts to send it.
  attempts: integer,
}
/** The state of its delivery. `dueAt` is the next attempt or, while it is being sent, the end of the lease. */
export const DELIVERY_FIELDS = { dueAt: instant, lease: optional(text), lastError: optional(text), failedAt: optional(instant) }
const { lease: _, ...SHOWN_DELIVERY_FIELDS } = DELIVERY_FIELDS
/** A mail or a webhook in the outbox, as an operator sees it. */
export const OUTBOX_FIELDS = { ...QUEUED_FIELDS, ...SHOWN_DELIVERY_FIELDS, isClaimed: computed(flag, 'lease is not null') }

/** A mail that waits to be sent. It contains no token. */
export const QUEUED_MAIL = entity('outbox', {
  ...QUEUED_FIELDS,
  kind: choice<MailKind>(),
  // The address of the account, in lower case.
  recipient: text,
  revision: integer,
  // Where it goes, as it was typed, if that was decided when it was queued.
  address: optional(text),
  // What it names, one per line.
  detail: optional(text),
  // That of the owner of the account when it was queued, or of the browser that requested the mail.
  language: optional(choice<Language>(...ALL_LANGUAGES)),
})
/**
 * Marks the error of a mail that waits because of an outage, which is the same for every address, with or without an account. It is stored:
 * rows of other versions have it too. No other reason begins with it.
 */
export const OUTAGE_MARK = 'away: '
/** The last error without the mark. */
export const SHOWN_ERROR = `case when last_error like '${OUTAGE_MARK}%' then substr(last_error, ${OUTAGE_MARK.length + 1}) else last_error end`
/** A mail as an operator sees it, with the address that it goes to. */
export const OUTBOX_MAIL = entity('outbox', {
  ...OUTBOX_FIELDS,
  lastError: computed(OUTBOX_FIELDS.lastError, SHOWN_ERROR),
  kind: QUEUED_MAIL.fields.kind,
  recipient: computed(text, 'coalesce(outbox.address, outbox.recipient)'),
})
export type OutboxMail = ValuesOf<typeof OUTBOX_MAIL.fields>

/** The mails in the outbox. */
export type MailCounts = {
  readonly pending: number
  readonly failed: number
  /** Those that wait after an attempt that failed. */
  readonly retrying: number
  /** When the one that waits longest was requested. */
  readonly oldestAt: number | null
  /** An error of one that waits. */
  readonly lastError: string | null
}

/** A mail that one process has claimed. No other process sends it until its lease expires. */
export type ClaimedMail = Claimed<LinkMailKind> | Claimed<NoticeKind>
export type Claimed<Kind extends MailKind> = Omit<ValuesOf<typeof QUEUED_MAIL.fields>, 'kind'> & {
  readonly kind: Kind
  readonly lease: string
}

/** The same error, once or several times in a row. Its text never contains an address, a link or a token. */
export type MailFailure = { readonly error: string; readonly firstAt: number; readonly lastAt: number; readonly count: number }

// Written by this version or an older one.
const failures: Field<readonly MailFailure[]> = {
  kind: 'text',
  fromColumn: (stored) => JSON.parse(String(stored)) as MailFailure[],
  toColumn: (value) => JSON.stringify(value),
  toJson: (value) => value,
}

const MAIL_OUTCOMES = ['delivered', 'given_up', 'discarded'] as const
export type MailOutcome = (typeof MAIL_OUTCOMES)[number]

/** What became of a mail. */
export const MAIL_RECORD = entity('mail_history', {
  id: integer,
  // Its number in the outbox; 0 for a test mail, which is never queued.
  mailId: integer,
  kind: choice<MailKind | 'test'>(),
  // The address that it went to, in lower case.
  recipient: text,
  requestedAt: instant,
  // The last change.
  at: instant,
  attempts: integer,
  errors: failures,
  // Undefined while it waits, and for a mail that nobody needed any more.
  outcome: optional(choice<MailOutcome>(...MAIL_OUTCOMES)),
  answer: optional(text),
})
export type MailRecord = ValuesOf<typeof MAIL_RECORD.fields>
/** `dropped`: it became unwanted, for example because the account was verified or deleted meanwhile. */
export type MailState = MailOutcome | 'waiting' | 'dropped'
export type ShownMail = MailRecord & { readonly state: MailState }

/** A mail that was kept as a file, because no mail server is set. */
export type KeptMail = {
  readonly id: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The HTML part. Its images are part of it. */
  readonly html: string
  /** The links in the text part. */
  readonly links: readonly string[]
  readonly at: number
}

export type KeptMails = {
  /** The newest mails, newest first, to everyone or to one address. */
  list(to: string | undefined): Promise<readonly KeptMail[]>
  /** One page of all mails, newest first. The first page is number 1. Beyond the end, it is the last page. */
  page(requested: number, size: number): Promise<{ readonly mails: readonly KeptMail[]; readonly page: number; readonly hasMore: boolean }>
  find(id: string): Promise<KeptMail | undefined>
}

/** Stands in for the answer of a server when a mail is kept as a file. It is stored. */
export const KEPT_ANSWER = 'kept as a file, because SMTP_URL is not set'
