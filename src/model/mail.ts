/** `email_change` goes to the new address of an account, the others to its present one. */
export type MailKind = 'verify' | 'reset' | 'email_change'

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
