import type { SendMailOptions } from 'nodemailer'

/** A mail to one recipient, ready to be sent. */
export type MailMessage = {
  readonly messageId: string
  readonly date: Date
  readonly from: Mailbox
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** What the mail is about, and the link that it carries, for a person who reads a terminal instead. */
  readonly purpose: string
  readonly link: string
}

export type Mailbox = { readonly name: string; readonly address: string }

export type MailTransport = {
  /** Throws MailError when the mail was not accepted. */
  send(message: MailMessage): Promise<void>
  /** Throws MailError when nothing could be sent now, and sends nothing. */
  check(): Promise<void>
  /** Ends at once whatever is under way: its sending fails. */
  close(): Promise<void>
}

/**
 * Why a mail was not accepted. `server`: nothing can be sent at present, whoever the recipient is. `message`: this one was turned
 * away, and may pass later. `recipient`: there is no such mailbox, and trying again does not help.
 */
export type MailErrorScope = 'server' | 'message' | 'recipient'

export class MailError extends Error {
  override readonly name = 'MailError'
  readonly scope: MailErrorScope

  /** The reason is kept and logged: it holds no address, link, user name or password. */
  constructor(scope: MailErrorScope, reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.scope = scope
  }
}

/** What both transports hand to nodemailer. Addresses are given as objects and lists: as text they would be parsed, and one could become two. */
export function toSendOptions({ messageId, date, from, to, subject, text, html }: MailMessage): SendMailOptions {
  return {
    messageId,
    date,
    from,
    to: [{ name: '', address: to }],
    envelope: { from: from.address, to: [to] },
    subject,
    text,
    html,
    textEncoding: 'quoted-printable',
    // Keeps holiday replies away (RFC 3834; the second is what Exchange listens to).
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}
