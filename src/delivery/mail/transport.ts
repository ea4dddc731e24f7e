import type { SendMailOptions } from 'nodemailer'
import type { Language } from '../../model/language.ts'

export type MailMessage = {
  readonly messageId: string
  readonly date: Date
  readonly from: Mailbox
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** The purpose and the link of the mail, for the output in a terminal. A notice has no link. */
  readonly purpose: string
  readonly link: string | undefined
  readonly images?: readonly MailImage[]
  /** In which all of its texts are written, if that is known. */
  readonly language?: Language | undefined
}

/** The HTML part refers to it as `cid:` and its id. */
export type MailImage = { readonly id: string; readonly fileName: string; readonly contentType: string; readonly bytes: Buffer }

export type Mailbox = { readonly name: string; readonly address: string }

export type MailTransport = {
  /**
   * Returns the answer of the server, which is stored: it must not contain an address, a link or a code. Throws a MailError if the mail was
   * not accepted.
   */
  send(message: MailMessage): Promise<string>
  /** Sends nothing. Throws a MailError if no mail can be sent now. */
  check(): Promise<void>
  /** Aborts deliveries in progress, which then throw. */
  close(): Promise<void>
}

/**
 * Why a mail was not accepted. `server`: no mail can be sent now, to any recipient. `message`: this mail was rejected and may be accepted
 * later. `recipient`: the mailbox does not exist, so that a retry does not help.
 */
export type MailErrorScope = 'server' | 'message' | 'recipient'

/**
 * What an operator can fix, where the error shows it. `connection`: host, port or network. `login`: user or password. `clear_text`: the server does not encrypt, and
 * SMTP_URL demands it. `certificate`: that of the server is not trusted. `envelope`: the sender or the recipient was rejected.
 */
export type MailProblem = 'connection' | 'login' | 'clear_text' | 'certificate' | 'envelope'

export class MailError extends Error {
  override readonly name = 'MailError'
  readonly scope: MailErrorScope
  readonly problem: MailProblem | undefined

  /** The reason is stored and logged: it must not contain an address, a link, a user name or a password. */
  constructor(
    scope: MailErrorScope,
    reason: string,
    { problem, ...options }: ErrorOptions & { readonly problem?: MailProblem | undefined } = {},
  ) {
    super(reason, options)
    this.scope = scope
    this.problem = problem
  }
}

/** The options of nodemailer for both transports. Addresses are passed as objects: as text they would be parsed, and one could become two. */
export function toSendOptions({ messageId, date, from, to, subject, text, html, images = [], language }: MailMessage): SendMailOptions {
  return {
    messageId,
    date,
    from,
    to: [{ name: '', address: to }],
    envelope: { from: from.address, to: [to] },
    subject,
    text,
    html,
    attachments: images.map(({ id, fileName, contentType, bytes }) => ({
      cid: id,
      filename: fileName,
      contentType,
      content: bytes,
      contentDisposition: 'inline',
    })),
    textEncoding: 'quoted-printable',
    // Suppresses automatic replies (RFC 3834; the second header is for Exchange).
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      ...(language && { 'Content-Language': language }),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}
