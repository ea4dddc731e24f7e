import { setTimeout as sleep } from 'node:timers/promises'
import { createTransport } from 'nodemailer'
import { parseSmtpServer } from '../config/smtp-url.ts'
import { MailError, type MailErrorScope, type MailTransport, toSendOptions } from './transport.ts'

export type SmtpTimeouts = {
  /** For each of: connecting, the greeting, and any later silence. */
  readonly silenceMs: number
  /** For a whole mail; a check, which may come before it, has half of it. A server that answers drop by drop is never silent. */
  readonly totalMs: number
}

const TIMEOUTS: SmtpTimeouts = { silenceMs: 10_000, totalMs: 30_000 }
const MAX_CONNECTIONS = 4
// Connections serve a burst and do not outlive it.
const IDLE_MS = 5_000

/** Sends through a mail server. With credentials, or with `?tls=required`, nothing is sent before the connection is encrypted. */
export function createSmtpTransport(url: string, timeouts: SmtpTimeouts = TIMEOUTS): MailTransport {
  let pool = openPool(url, timeouts)
  let isClosed = false
  const underWay = new Set<AbortController>()

  /** Mails in the other connections finish first; when their time is over too, none is left to wait for. */
  function replacePool(stale: typeof pool): void {
    if (stale !== pool) return
    pool = openPool(url, timeouts)
    stale.close()
    setTimeout(() => stale.close({ force: true }), timeouts.totalMs).unref()
  }

  async function inTime(totalMs: number, work: (used: typeof pool) => Promise<unknown>): Promise<void> {
    const used = pool
    const overtime = new AbortController()
    underWay.add(overtime)
    try {
      await Promise.race([work(used), expire(totalMs, overtime.signal)])
    } catch (error) {
      if (isClosed) throw new MailError('server', 'the service is stopping')
      if (error instanceof Overtime) replacePool(used)
      throw toFault(error)
    } finally {
      underWay.delete(overtime)
      overtime.abort()
    }
  }

  return {
    send: (message) => inTime(timeouts.totalMs, (used) => used.sendMail(toSendOptions(message))),
    check: () => inTime(timeouts.totalMs / 2, (used) => used.verify()),
    async close() {
      isClosed = true
      pool.close({ force: true })
      for (const overtime of underWay) overtime.abort()
    },
  }
}

function openPool(url: string, { silenceMs }: SmtpTimeouts) {
  const pool = createTransport({
    pool: true,
    ...connectionOptions(url),
    connectionTimeout: silenceMs,
    greetingTimeout: silenceMs,
    socketTimeout: silenceMs,
    dnsTimeout: silenceMs,
    maxConnections: MAX_CONNECTIONS,
    idleTimeout: Math.min(IDLE_MS, silenceMs),
    // Repeating is the outbox's business, but for a connection that the server has closed while it was idle.
    maxRequeues: 1,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  // A connection that fails between two mails concerns none of them.
  pool.on('error', () => undefined)
  return pool
}

/** Passed field by field, because nodemailer takes settings of all kinds from the query of a URL. */
function connectionOptions(url: string) {
  const parsed = parseSmtpServer(url)
  if ('fault' in parsed) throw new Error(`SMTP_URL: ${parsed.fault}`)
  const { host, port, implicitTls, tls, login } = parsed.value
  return {
    host,
    port,
    secure: implicitTls,
    requireTLS: tls === 'required',
    ignoreTLS: tls === 'none',
    ...(login && { auth: { user: login.user, pass: login.password } }),
  }
}

class Overtime extends Error {}

async function expire(ms: number, signal: AbortSignal): Promise<never> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
  throw new Overtime(`no end after ${ms} ms`)
}

type SmtpError = { readonly message?: string; readonly command?: string; readonly responseCode?: number; readonly response?: string }

function toFault(error: unknown): MailError {
  if (error instanceof Overtime) return new MailError('server', error.message)
  // nodemailer gives its errors these fields; each may be missing.
  const { message = '', command = '', responseCode = 0, response = '' } = error as SmtpError
  if (message.includes('wrong version number'))
    return new MailError('server', 'the port does not speak TLS from the start: use smtp:// in SMTP_URL, or the port for smtps://')
  if ((command === 'STARTTLS' && responseCode > 0) || message.startsWith('EHLO failed but HELO'))
    return new MailError('server', `${command} was answered: ${harmless(response)}; ${NO_TLS}`)
  if (responseCode === 0) return new MailError('server', `no answer: ${harmless(message)}`)
  // The answer to a wrong password may name the user.
  const answer = command.startsWith('AUTH') ? String(responseCode) : harmless(response)
  return new MailError(scopeOf(command, responseCode, response), `${command} was answered: ${answer}`)
}

const NO_TLS =
  'nothing was sent, because the server does not encrypt; use another port or smtps:// in SMTP_URL, or add ?tls=none to send in clear text'

const NO_SUCH_MAILBOX = new Set([550, 551, 553])
// 5.7 tells of a policy, such as a wrong password or sender: the operator's to mend, and then the mail goes out.
const POLICY = /^\d{3}[ -]5\.7\./

function scopeOf(command: string, responseCode: number, response: string): MailErrorScope {
  // 421 ends the connection, whatever it was an answer to.
  if (responseCode === 421) return 'server'
  if (command === 'RCPT TO' && NO_SUCH_MAILBOX.has(responseCode) && !POLICY.test(response)) return 'recipient'
  return command === 'RCPT TO' || command === 'DATA' ? 'message' : 'server'
}

const HARMLESS_WORD = /^[A-Za-z0-9.,;!'()#-]{1,24}$/
const MAX_REASON_LENGTH = 160

/** A reply may quote the address or the link: words that could be either are left out. */
function harmless(text: string): string {
  const words = text.split(/\s+/).map((word) => (HARMLESS_WORD.test(word) ? word : '…'))
  return words.join(' ').slice(0, MAX_REASON_LENGTH)
}
