export type MailKind = 'verify' | 'reset'

/** A mail that a process has claimed and alone may send, until its lease runs out. */
export type ClaimedMail = {
  readonly id: number
  readonly kind: MailKind
  /** The address in lower case. */
  readonly recipient: string
  readonly revision: number
  /** How often it was tried before. */
  readonly attempts: number
  /** The latest request for it. */
  readonly requestedAt: number
  readonly lease: string
}
