import type { Logger } from 'pino'
import type { ClaimedMail } from '../model/mail.ts'
import type { User } from '../model/user.ts'
import type { Tokens } from '../security/token.ts'
import type { Database } from '../storage/database.ts'
import { forgetFailedMails, giveUpMail, postponeMail, releaseMail, removeMail, renewMail } from '../storage/outbox.repository.ts'
import { findUserByEmail, type UserSecrets } from '../storage/user.repository.ts'
import { retryDelayMs } from './backoff.ts'
import { type Letterhead, writeMail } from './messages.ts'
import { MailFault, type MailTransport } from './transport.ts'

export type DeliveryParts = {
  readonly db: Database
  readonly tokens: Tokens
  readonly transport: MailTransport
  readonly letterhead: Letterhead
  readonly now: () => number
  readonly random: () => number
  readonly logger: MailLogger
}

export type MailLogger = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>

/** What became of an attempt: what is left to write down in the outbox. Writing it down twice does no harm. */
export type Outcome = () => Promise<void>

const TRIED_FOR_MS = 24 * 60 * 60_000
// A server that took a mail a moment ago need not be asked whether it is there.
const SERVER_TRUSTED_MS = 10_000
const FAILED_KEPT_MS = 30 * 24 * 60 * 60_000

/** One attempt at one mail that this process has claimed. */
export function createDelivery({ db, tokens, transport, letterhead, now, random, logger }: DeliveryParts) {
  let isServerDown = false
  let serverSeenAt = Number.NEGATIVE_INFINITY

  /** Signs the token and hands the mail over. Throws when the database does not answer. */
  async function attempt(mail: ClaimedMail): Promise<Outcome> {
    const user = await findUserByEmail(db, mail.recipient)
    if (user === undefined || !isWanted(mail, user)) return unwanted(mail)
    try {
      const token = tokens.forMail(mail.kind, user.id, mail.kind === 'verify' ? user.emailVersion : user.resetVersion)
      await transport.send(writeMail(letterhead, mail, user, token, now()))
    } catch (error) {
      return failed(mail, error)
    }
    noteServer(undefined)
    return () => finish(mail)
  }

  /**
   * A mail that nobody is waiting for goes silently: a log or a counter would tell which addresses have an account. It goes no
   * sooner than others while the server is down, because how many mails wait is told to whoever asks for the metrics.
   */
  async function unwanted(mail: ClaimedMail): Promise<Outcome> {
    try {
      if (isServerDown || now() - serverSeenAt > SERVER_TRUSTED_MS) {
        await transport.check()
        noteServer(undefined)
      }
    } catch (error) {
      if (now() - mail.requestedAt < TRIED_FOR_MS) return failed(mail, error)
    }
    return () => finish(mail)
  }

  /** A request that came in during the sending is served by a mail of its own. */
  async function finish(mail: ClaimedMail): Promise<void> {
    if (!(await removeMail(db, mail))) await renewMail(db, mail, now())
  }

  function failed(mail: ClaimedMail, error: unknown): Outcome {
    const fault = error instanceof MailFault ? error : unforeseen(mail, error)
    noteServer(fault)
    const ageMs = now() - mail.requestedAt
    if (fault.scope === 'recipient' || ageMs >= TRIED_FOR_MS) return () => giveUp(mail, fault)
    if (fault.scope === 'message' && mail.attempts === 0) logger.warn(about(mail, fault), 'a mail was turned away and is tried again')
    const dueAt = now() + retryDelayMs(fault.scope, mail.attempts, ageMs, random)
    return () => postponeMail(db, mail, dueAt, fault.message)
  }

  function unforeseen(mail: ClaimedMail, error: unknown): MailFault {
    logger.error({ err: error, outboxId: mail.id, kind: mail.kind }, 'a mail could not be made')
    return new MailFault('message', 'the mail could not be made', { cause: error })
  }

  async function giveUp(mail: ClaimedMail, fault: MailFault): Promise<void> {
    if (!(await giveUpMail(db, mail, now(), fault.message))) return renewMail(db, mail, now())
    logger.error(about(mail, fault), 'a mail could not be delivered and is given up')
    await forgetFailedMails(db, now() - FAILED_KEPT_MS)
  }

  /** Told once when it goes and once when it is back, not with each mail that waits. */
  function noteServer(fault: MailFault | undefined): void {
    const isDown = fault?.scope === 'server'
    if (!isDown) serverSeenAt = now()
    if (isDown === isServerDown) return
    isServerDown = isDown
    if (isDown) logger.warn({ reason: fault.message }, 'mail cannot be sent at present; it waits and is tried again')
    else logger.info('mail can be sent again')
  }

  return { attempt, release: (mail: ClaimedMail) => releaseMail(db, mail, now()) }
}

function isWanted({ kind }: ClaimedMail, { banned, verified }: User & UserSecrets): boolean {
  switch (kind) {
    case 'verify':
      return !banned && !verified
    case 'reset':
      return !banned
  }
}

function about({ id, kind, attempts }: ClaimedMail, { message }: MailFault) {
  return { outboxId: id, kind, attempts: attempts + 1, reason: message }
}
