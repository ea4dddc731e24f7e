/**
 * Every mail that the service sends. A kind also has its texts (outbox/messages.ts) and its placeholders (outbox/templates/placeholders.ts).
 * `email_change` goes to the new address of an account, the others to its present one.
 */
export const MAIL_KINDS = ['verify', 'reset', 'email_change'] as const

export type MailKind = (typeof MAIL_KINDS)[number]

/** A mail that one process has claimed. No other process sends it until its lease expires. */
export type ClaimedMail = {
  readonly id: number
  readonly kind: MailKind
  /** The address of the account, in lower case. */
  readonly recipient: string
  readonly revision: number
  /** The number of earlier attempts to send it. */
  readonly attempts: number
  /** The time of the latest request for it. */
  readonly requestedAt: number
  readonly lease: string
}

/** A mail in the outbox, as an operator sees it. It contains no token. */
export type OutboxMail = {
  readonly id: number
  readonly kind: MailKind
  /** Where it goes. */
  readonly recipient: string
  readonly requestedAt: number
  readonly attempts: number
  /** The next attempt or, while the mail is being sent, the end of the lease. */
  readonly dueAt: number
  readonly isClaimed: boolean
  readonly lastError: string | undefined
  readonly failedAt: number | undefined
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
  find(id: string): Promise<KeptMail | undefined>
}
