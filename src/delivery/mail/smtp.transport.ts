import { setTimeout as sleep } from 'node:timers/promises'
import { createTransport, type NodemailerError } from 'nodemailer'
import { parseSmtpServer } from '../../config/values.ts'
import { MailError, type MailErrorScope, type MailProblem, type MailTransport, toSendOptions } from './transport.ts'

export type SmtpTimeouts = {
  /** For each of: connecting, the greeting, and any later pause of the server. */
  readonly silenceMs: number
  /** For a whole mail, and half of it for a check: a server that answers byte by byte never exceeds the other timeout. */
  readonly totalMs: number
}

const TIMEOUTS: SmtpTimeouts = { silenceMs: 10_000, totalMs: 30_000 }
const MAX_CONNECTIONS = 4
// Connections are kept for a burst of mail only.
const IDLE_MS = 5_000

/** Sends through a mail server. With credentials, or with `?tls=required`, nothing is sent before the connection is encrypted. */
export function createSmtpTransport(url: string, timeouts: SmtpTimeouts = TIMEOUTS): MailTransport {
  let pool = openPool(url, timeouts)
  let isClosed = false
  const timers = new Set<AbortController>()

  /** Mails on other connections of the old pool may still finish, within the time that a mail has. */
  function replacePool(stale: typeof pool): void {
    if (stale !== pool) return
    pool = openPool(url, timeouts)
    stale.close()
    setTimeout(() => stale.close({ force: true }), timeouts.totalMs).unref()
  }

  async function inTime<Result>(totalMs: number, work: (used: typeof pool) => Promise<Result>): Promise<Result> {
    const used = pool
    const timer = new AbortController()
    timers.add(timer)
    try {
      return await Promise.race([work(used), expire(totalMs, timer.signal)])
    } catch (error) {
      if (isClosed) throw new MailError('server', 'the service is stopping')
      if (error instanceof TimeoutError) replacePool(used)
      throw toMailError(error)
    } finally {
      timers.delete(timer)
      timer.abort()
    }
  }

  return {
    send: async (message) => redacted((await inTime(timeouts.totalMs, (used) => used.sendMail(toSendOptions(message)))).response),
    check: async () => void (await inTime(timeouts.totalMs / 2, (used) => used.verify())),
    async close() {
      isClosed = true
      pool.close({ force: true })
      for (const timer of timers) timer.abort()
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
    // The outbox retries. The pool repeats a mail once only when the server has closed an idle connection.
    maxRequeues: 1,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  // An idle connection that fails affects no mail.
  pool.on('error', () => undefined)
  return pool
}

/** Passed field by field, because nodemailer takes settings of all kinds from the query of a URL. */
function connectionOptions(url: string) {
  const parsed = parseSmtpServer(url)
  if ('error' in parsed) throw new Error(`SMTP_URL: ${parsed.error}`)
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

class TimeoutError extends Error {}

async function expire(ms: number, signal: AbortSignal): Promise<never> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
  throw new TimeoutError(`timeout after ${ms} ms`)
}

/** Fields that nodemailer adds to its errors; each may be missing. `originalCode` is the code of Node.js. */
type SmtpError = Pick<NodemailerError, 'message' | 'originalCode' | 'command' | 'responseCode' | 'response'>

function toMailError(error: unknown): MailError {
  if (error instanceof TimeoutError) return new MailError('server', error.message, { problem: 'connection' })
  const { message = '', originalCode = '', command = '', responseCode = 0, response = '' } = error as Partial<SmtpError>
  if (originalCode === NO_TLS_FROM_THE_START) {
    const reason = 'the port does not speak TLS from the start: use smtp:// in SMTP_URL, or the port for smtps://'
    return new MailError('server', reason, { problem: 'connection' })
  }
  if (isWithoutEncryption(command, responseCode))
    return new MailError('server', `${command} was answered: ${redacted(response)}; ${NO_TLS}`, { problem: 'clear_text' })
  if (responseCode === 0)
    return new MailError('server', `no answer: ${redacted(message)}${EXPLANATIONS[originalCode] ?? ''}`, {
      problem: CERTIFICATE_CODE.test(originalCode) ? 'certificate' : 'connection',
    })
  // The reply to a wrong password may contain the user name.
  const answer = command.startsWith('AUTH') ? String(responseCode) : redacted(response)
  const problem = problemOf(command, responseCode)
  return new MailError(scopeOf(command, responseCode, response), `${command} was answered: ${answer}`, { problem })
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: ' (nothing listens on this port)',
  ECONNRESET: ' (the server closed the connection)',
  EAI_AGAIN: ' (the name of the host could not be looked up)',
  EHOSTUNREACH: ' (there is no route to the host)',
  ENOTFOUND: ' (there is no host of this name)',
  ETIMEDOUT: ' (the server did not reply in time)',
}
const NO_TLS_FROM_THE_START = 'ERR_SSL_WRONG_VERSION_NUMBER'
// The codes of Node.js for certificates, such as DEPTH_ZERO_SELF_SIGNED_CERT and ERR_TLS_CERT_ALTNAME_INVALID.
const CERTIFICATE_CODE = /CERT|^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/
const CLOSING = 421
const WRONG_PASSWORD = 535

/** A server that knows no EHLO cannot encrypt either. nodemailer reports it only where encryption is required. */
function isWithoutEncryption(command: string, responseCode: number): boolean {
  return responseCode > 0 && (command === 'STARTTLS' || (command === 'EHLO' && responseCode !== CLOSING))
}

function problemOf(command: string, responseCode: number): MailProblem | undefined {
  if (command.startsWith('AUTH') || responseCode === WRONG_PASSWORD) return 'login'
  return command === 'MAIL FROM' || command === 'RCPT TO' ? 'envelope' : undefined
}

const NO_TLS =
  'nothing was sent, because the server does not encrypt; use another port or smtps:// in SMTP_URL, or add ?tls=none to send in clear text'

const NO_SUCH_MAILBOX = new Set([550, 551, 553])
// 5.7 is a policy error, such as a wrong password or sender: the operator can fix it, and then the mail is sent.
const POLICY = /^\d{3}[ -]5\.7\./

function scopeOf(command: string, responseCode: number, response: string): MailErrorScope {
  // It closes the connection, whichever command it replies to.
  if (responseCode === CLOSING) return 'server'
  if (command === 'RCPT TO' && NO_SUCH_MAILBOX.has(responseCode) && !POLICY.test(response)) return 'recipient'
  return command === 'RCPT TO' || command === 'DATA' ? 'message' : 'server'
}

const SAFE_WORD = /^[A-Za-z0-9.,;!'()#-]{1,24}:?$/
/** The form of the code in a sign-in mail. Most numbers of queues are longer. */
const MAILED_CODE = /(?<!\d)\d{8}(?!\d)/
const MAX_REASON_LENGTH = 160

/** A reply may quote the address, the link or the code of a mail, so every word that could be part of one is removed. */
function redacted(text: string): string {
  const words = text.split(/\s+/).map((word) => (SAFE_WORD.test(word) && !MAILED_CODE.test(word) ? word : '…'))
  return words.join(' ').slice(0, MAX_REASON_LENGTH)
}
