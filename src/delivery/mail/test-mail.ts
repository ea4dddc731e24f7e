import { randomUUID } from 'node:crypto'
import type { Config } from '../../config/load.ts'
import { html, renderHtml } from '../../shared/html.ts'
import { parseMailbox } from './messages.ts'
import { MailError, type MailMessage, type MailTransport } from './transport.ts'

type Sender = Pick<Config, 'apiTitle' | 'mailFrom' | 'baseUrl'>

/** A mail that says nothing but that mail arrives. */
export function writeTestMail({ apiTitle, mailFrom, baseUrl }: Sender, to: string, by: string): MailMessage {
  const from = parseMailbox(mailFrom)
  const text = `This mail was sent by ${by}: mail from ${apiTitle} arrives.`
  return {
    messageId: `<${randomUUID()}@${from.address.split('@')[1]}>`,
    date: new Date(),
    from,
    to,
    subject: `Test mail from ${apiTitle}`,
    text: `${text}\n`,
    html: `${renderHtml(html`<p>${text}</p>`)}\n`,
    purpose: 'a test',
    link: baseUrl,
    // Like the console and the command line, which send it.
    language: 'en',
  }
}

/** Sends a test mail directly, past the outbox: the answer is known at once, and a failure is not retried. */
export async function sendTestMail(transport: MailTransport, sender: Sender, to: string, by: string) {
  try {
    return { answer: await transport.send(writeTestMail(sender, to, by)) }
  } catch (error) {
    if (error instanceof MailError) return { error: error.message }
    throw error
  }
}
