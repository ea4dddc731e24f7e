/** Mails with a link that carries a token. `email_change` goes to the new address of an account, the others to its present one. */
export const LINK_MAIL_KINDS = ['verify', 'reset', 'email_change'] as const
/** Mails about a change of an account, to the address that the account had then. */
export const NOTICE_KINDS = ['password_changed', 'email_changed', 'admin_role', 'key_leaked'] as const
/**
 * Every mail that the service sends. A kind also has its texts (outbox/messages.ts, outbox/notices.ts) and its placeholders
 * (outbox/templates/placeholders.ts).
 */
export const MAIL_KINDS = [...LINK_MAIL_KINDS, ...NOTICE_KINDS] as const

export type LinkMailKind = (typeof LINK_MAIL_KINDS)[number]
export type NoticeKind = (typeof NOTICE_KINDS)[number]
export type MailKind = LinkMailKind | NoticeKind

/** A mail that one process has claimed. No other process sends it until its lease expires. */
export type ClaimedMail = Claimed<LinkMailKind> | Claimed<NoticeKind>

export type Claimed<Kind extends MailKind> = {
  readonly id: number
  readonly kind: Kind
  /** The address of the account, in lower case. */
  readonly recipient: string
  readonly revision: number
  /** The number of earlier attempts to send it. */
  readonly attempts: number
  /** The time of the latest request for it. */
  readonly requestedAt: number
  readonly lease: string
  /** Where it goes, as it was typed, if that was decided when it was queued. */
  readonly address: string | undefined
  /** What it names, one per line. */
  readonly detail: string | undefined
}

/** A mail or a webhook in the outbox, as an operator sees it. */
export type OutboxEntry = {
  readonly id: number
  readonly requestedAt: number
  readonly attempts: number
  /** The next attempt or, while the entry is being sent, the end of the lease. */
  readonly dueAt: number
  readonly isClaimed: boolean
  readonly lastError: string | undefined
  readonly failedAt: number | undefined
}

/** It contains no token. */
export type OutboxMail = OutboxEntry & {
  readonly kind: MailKind
  /** Where it goes. */
  readonly recipient: string
}

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
  /** One page of all mails, newest first. The first page is number 1. In place of a page beyond the end it is the last page. */
  page(requested: number, size: number): Promise<{ readonly mails: readonly KeptMail[]; readonly page: number; readonly hasMore: boolean }>
  find(id: string): Promise<KeptMail | undefined>
}
