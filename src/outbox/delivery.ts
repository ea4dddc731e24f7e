import type { Logger } from 'pino'
import type { ClaimedMail } from '../model/mail.ts'
import type { User } from '../model/user.ts'
import type { Tokens } from '../security/token.ts'
import type { Database } from '../storage/database.ts'
import {
  forgetFailedMails,
  giveUpMail,
  holdMail,
  postponeMail,
  releaseMail,
  removeMail,
  removeUnwantedMails,
  renewMail,
} from '../storage/repositories/outbox.repository.ts'
import { findUserByEmail, type UserSecrets } from '../storage/repositories/user.repository.ts'
import { retryDelayMs } from './backoff.ts'
import { type Letterhead, writeMail } from './messages.ts'
import { MailError, type MailTransport } from './transport.ts'

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

/** Who met the fault: a check, which every mail waits for alike, or the sending of one mail. */
type Witness = 'check' | 'sending'

const TRIED_FOR_MS = 24 * 60 * 60_000
// A server that took a mail a moment ago need not be asked whether it is there.
const SERVER_TRUSTED_MS = 10_000
const FAILED_KEPT_MS = 30 * 24 * 60 * 60_000
// Longer than the longest delay between two attempts that meet the same outage.
const OUTAGE_OVER_MS = 60_000
// So few that a request is not kept waiting by them, so many that a flood is gone in a moment.
const SWEPT_AT_ONCE = 250

/** One attempt at one mail that this process has claimed. */
export function createDelivery({ db, tokens, transport, letterhead, now, random, logger }: DeliveryParts) {
  let outageSeenBy: Witness | undefined
  let serverSeenAt = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | undefined
  let unreadAt = Number.NEGATIVE_INFINITY

  /** Signs the token and hands the mail over. */
  async function attempt(mail: ClaimedMail): Promise<Outcome> {
    let user: (User & UserSecrets) | undefined
    try {
      user = await findUserByEmail(db, mail.recipient)
    } catch (error) {
      return unread(mail, error)
    }
    if (user === undefined || !isWanted(mail, user)) return unwanted(mail)
    try {
      // Whether it waits because the server is away, or because of its recipient, is told apart here: only the former may be counted.
      if (outageSeenBy !== undefined || mail.attempts > 0) await requireServer()
    } catch (error) {
      return failed(mail, error, 'check')
    }
    try {
      const token = tokens.forMail(mail.kind, user.id, mail.kind === 'verify' ? user.emailVersion : user.resetVersion)
      await transport.send(writeMail(letterhead, mail, user, token, now()))
    } catch (error) {
      return failed(mail, error, 'sending')
    }
    noteServer('sending')
    return () => finish(mail)
  }

  /** The database keeps the mail and does not say whose it is. Told once in an outage, in which some mails may still pass. */
  function unread(mail: ClaimedMail, error: unknown): Outcome {
    if (now() - unreadAt > OUTAGE_OVER_MS) logger.warn({ err: error, outboxId: mail.id }, 'mail waits for the database')
    unreadAt = now()
    const dueAt = now() + retryDelayMs('server', mail.attempts, now() - mail.requestedAt, random)
    return () => holdMail(db, mail, dueAt, 'the account could not be looked up')
  }

  /**
   * A mail that nobody is waiting for goes silently: a log or a counter would tell which addresses have an account. It goes no
   * sooner than others while the server is down, because how many mails wait is told to whoever asks for the metrics.
   */
  async function unwanted(mail: ClaimedMail): Promise<Outcome> {
    try {
      await requireServer()
    } catch (error) {
      if (now() - mail.requestedAt < TRIED_FOR_MS) return failed(mail, error, 'check')
    }
    return () => finish(mail)
  }

  /**
   * Takes out many mails that nobody is waiting for, if the server is known to be there, so that a flood of them takes no turn from
   * others. True when there may be more. What goes wrong here is met again, and told, by the attempt at each mail.
   */
  async function sweep(): Promise<boolean> {
    if (!isServerTrusted()) return false
    return (await removeUnwantedMails(db, now(), SWEPT_AT_ONCE).catch(() => 0)) === SWEPT_AT_ONCE
  }

  function isServerTrusted(): boolean {
    return now() - serverSeenAt <= SERVER_TRUSTED_MS
  }

  /** Throws when the server is away. One check serves all who ask meanwhile. */
  async function requireServer(): Promise<void> {
    if (isServerTrusted()) return
    checking ??= transport.check().finally(() => {
      checking = undefined
    })
    await checking
    noteServer('check')
  }

  /** A request that came in during the sending is served by a mail of its own. */
  async function finish(mail: ClaimedMail): Promise<void> {
    if (!(await removeMail(db, mail))) await renewMail(db, mail, now())
  }

  function failed(mail: ClaimedMail, error: unknown, witness: Witness): Outcome {
    const fault = error instanceof MailError ? error : unforeseen(mail, error)
    if (fault.scope === 'server') noteOutage(fault, witness)
    else noteServer(witness)
    const ageMs = now() - mail.requestedAt
    if (fault.scope === 'recipient' || ageMs >= TRIED_FOR_MS) return () => giveUp(mail, fault)
    if (fault.scope === 'message' && mail.attempts === 0) logger.warn(about(mail, fault), 'a mail was turned away and is tried again')
    const dueAt = now() + retryDelayMs(fault.scope, mail.attempts, ageMs, random)
    const putOff = witness === 'check' ? holdMail : postponeMail
    return () => putOff(db, mail, dueAt, fault.message)
  }

  function unforeseen(mail: ClaimedMail, error: unknown): MailError {
    logger.error({ err: error, outboxId: mail.id, kind: mail.kind }, 'a mail could not be made')
    return new MailError('message', 'the mail could not be made', { cause: error })
  }

  async function giveUp(mail: ClaimedMail, fault: MailError): Promise<void> {
    if (!(await giveUpMail(db, mail, now(), fault.message))) return renewMail(db, mail, now())
    logger.error(about(mail, fault), 'a mail could not be delivered and is given up')
    await forgetFailedMails(db, now() - FAILED_KEPT_MS)
  }

  /** Told once when it goes and once when it is back, not with each mail that waits. */
  function noteOutage(fault: MailError, witness: Witness): void {
    serverSeenAt = Number.NEGATIVE_INFINITY
    if (outageSeenBy === undefined) logger.warn({ reason: fault.message }, 'mail cannot be sent at present; it waits and is tried again')
    outageSeenBy = witness
  }

  /** A server that answers and takes no mail is there for a check, and back when it takes one. */
  function noteServer(witness: Witness): void {
    serverSeenAt = now()
    if (outageSeenBy === undefined || (outageSeenBy === 'sending' && witness === 'check')) return
    outageSeenBy = undefined
    logger.info('mail can be sent again')
  }

  return { attempt, sweep, release: (mail: ClaimedMail) => releaseMail(db, mail, now()) }
}

function isWanted({ kind }: ClaimedMail, { banned, verified }: User & UserSecrets): boolean {
  switch (kind) {
    case 'verify':
      return !banned && !verified
    case 'reset':
      return !banned
  }
}

function about({ id, kind, attempts }: ClaimedMail, { message }: MailError) {
  return { outboxId: id, kind, attempts: attempts + 1, reason: message }
}
