import type { Config } from '../config/load.ts'
import { parseSmtpServer } from '../config/values.ts'
import { parseMailbox } from '../delivery/mail/messages.ts'
import { createSmtpTransport } from '../delivery/mail/smtp.transport.ts'
import { writeTestMail } from '../delivery/mail/test-mail.ts'
import { MailError, type MailProblem } from '../delivery/mail/transport.ts'
import { isLocalService } from '../shared/addresses.ts'
import { about, type Finding, reasonOf } from './finding.ts'

const MAILBOX = about('mailbox')
const SMTP = about('smtp')

// A check takes at most half of the total, which is longer than a silence, so that the reason is reported and not the timeout.
const TIMEOUTS = { silenceMs: 5000, totalMs: 12_000 }

/** The setting for development, which may have no effect. */
export function checkDevMail(config: Config): readonly Finding[] {
  const { devMailToken, smtpUrl } = config
  if (devMailToken === undefined) return []
  if (smtpUrl !== undefined || !isLocalService(config))
    return MAILBOX.warning(
      'DEV_MAIL_TOKEN has no effect: with SMTP_URL, or for others than this machine, there is no /dev/mail',
      'Remove it.',
    )
  return MAILBOX.ok('programs on this machine read mails with DEV_MAIL_TOKEN')
}

/** Connects to the mail server and logs in; with an address, delivers a test mail to it. */
export async function checkSmtp({ smtpUrl, mailFrom, apiTitle, baseUrl }: Config, sendTo: string | undefined): Promise<readonly Finding[]> {
  if (smtpUrl === undefined) {
    const advice = 'Set SMTP_URL to smtp://user:password@host:587, and MAIL_FROM.'
    if (sendTo !== undefined) return SMTP.failure('SMTP_URL is not set: no mail can be sent', advice)
    return SMTP.warning('SMTP_URL is not set: mails are kept as files and not sent', advice)
  }
  const findings: Finding[] = []
  const from = parseMailbox(mailFrom)
  if (from.address.endsWith('@localhost'))
    findings.push(...SMTP.warning(`MAIL_FROM is ${from.address}, which most servers refuse`, 'Set MAIL_FROM to an address of your domain.'))
  const transport = createSmtpTransport(smtpUrl, TIMEOUTS)
  try {
    await transport.check()
    findings.push(...SMTP.ok('the mail server answers and accepts the login'))
    findings.push(...(await clearTextWarnings(smtpUrl)))
    if (sendTo === undefined) return findings
    await transport.send(writeTestMail({ mailFrom, apiTitle, baseUrl }, sendTo, '`latchkey doctor`'))
    findings.push(...SMTP.ok(`the server accepted a test mail to ${sendTo}; check that it arrives, and not as spam`))
  } catch (error) {
    const problem = error instanceof MailError ? error.problem : undefined
    findings.push(...SMTP.failure(`the mail server cannot be used: ${reasonOf(error)}`, ADVICE[problem ?? 'connection']))
  } finally {
    await transport.close()
  }
  return findings
}

/** Warns about clear text, for a server that answers. */
async function clearTextWarnings(smtpUrl: string): Promise<readonly Finding[]> {
  const parsed = parseSmtpServer(smtpUrl)
  if (!('value' in parsed) || parsed.value.tls === 'required') return []
  if (parsed.value.tls === 'offered' && (await canEncrypt(smtpUrl))) return []
  const exposed = parsed.value.login ? 'mails, their links and the password of SMTP_URL' : 'mails and their links'
  const advice = 'Use smtps://, or a server that offers STARTTLS and ?tls=required in SMTP_URL.'
  return SMTP.warning(`${exposed} travel to the mail server in clear text`, advice)
}

async function canEncrypt(smtpUrl: string): Promise<boolean> {
  const transport = createSmtpTransport(`${smtpUrl}?tls=required`, TIMEOUTS)
  const isEncrypted = await transport.check().then(
    () => true,
    () => false,
  )
  await transport.close()
  return isEncrypted
}

const ADVICE: Readonly<Record<MailProblem, string>> = {
  connection: 'Check host and port in SMTP_URL, and that this machine may connect to it: many providers close port 25.',
  login: 'Check user and password in SMTP_URL; special characters are percent-encoded.',
  clear_text: 'Use another port or smtps:// in SMTP_URL, or add ?tls=none to send in clear text.',
  certificate: 'Use the name that is in the certificate of the server.',
  envelope: 'Check that the server lets MAIL_FROM send, and the address of the recipient.',
}
