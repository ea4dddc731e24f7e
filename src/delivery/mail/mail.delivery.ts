import { createHash } from 'node:crypto'
import type { ClaimedMail, MailKind } from '../../model/mail.ts'
import { LIFETIME_MINUTES, type Tokens } from '../../security/token.ts'
import type { Database, Queries } from '../../storage/database.ts'
import {
  claimMails,
  extendLease,
  findRecipient,
  forgetFailedMails,
  giveUpMail,
  hasAccount,
  holdMail,
  postponeMail,
  releaseMail,
  removeMail,
  removeUnwantedMails,
  requeueMail,
} from '../../storage/repositories/mail/mail.repository.ts'
import { recordMail } from '../../storage/repositories/mail/mail-history.repository.ts'
import { openSignIn } from '../../storage/repositories/sign-in/email-sign-in.repository.ts'
import { createDispatcher, type Delivery, type Dispatcher, type DispatcherOptions, type Outcome } from '../dispatcher.ts'
import { isNotice, type Letterhead, writeMail, writeNotice } from './messages.ts'
import { MailError, type MailErrorScope, type MailMessage, type MailTransport } from './transport.ts'

export type MailDispatcherParts = DispatcherOptions & {
  readonly db: Database
  readonly tokens: Tokens
  readonly transport: MailTransport
  /** Called for each mail, because the port in its URL may only be known once the service listens. */
  readonly letterhead: () => Letterhead
}

export function createMailDispatcher(parts: MailDispatcherParts): Dispatcher {
  return createDispatcher(createMailDelivery(parts), parts)
}

/** A mail that is wanted: where it goes, and how it is written. */
type Letter = { readonly kind: MailKind; readonly to: string; readonly write: () => MailMessage }

const RETRIED_FOR_MS = 24 * 60 * 60_000
const FAILED_KEPT_MS = 30 * 24 * 60 * 60_000
const FORGET_EVERY_MS = 10 * 60_000
// Longer than the longest delay between two attempts that meet the same outage.
const OUTAGE_OVER_MS = 60_000
// Small enough not to delay a request, large enough to remove a flood quickly.
const PRUNE_BATCH = 250

/** Delivers the mails of the outbox. The token in a mail is signed at the moment of sending. */
function createMailDelivery(parts: MailDispatcherParts): Delivery<ClaimedMail> {
  const { db, tokens, transport, letterhead, now, logger, random = Math.random } = parts
  const server = createMailServerStatus(parts)
  let lookUpFailedAt = Number.NEGATIVE_INFINITY
  let forgetsAt = Number.NEGATIVE_INFINITY

  async function attempt(mail: ClaimedMail): Promise<Outcome> {
    let letter: Letter | undefined
    try {
      letter = await prepare(mail)
    } catch (error) {
      return lookUpFailed(mail, error)
    }
    if (letter === undefined) return unwanted(mail)
    try {
      // Tells an outage from a problem of this recipient: only the former may be counted in the metrics.
      if (server.isOutage() || mail.attempts > 0) await server.requireAvailable()
    } catch (error) {
      return failed(mail, error, 'check', letter)
    }
    let answer: string
    try {
      answer = await transport.send(letter.write())
    } catch (error) {
      return failed(mail, error, 'sending', letter)
    }
    server.noteReached('sending')
    const at = now()
    return () =>
      db.transaction(async (tx) => {
        await recordMail(tx, { ...stepOf(mail, letter), at, outcome: 'delivered', answer })
        await finish(tx, mail)
      })
  }

  function stepOf({ id: mailId, requestedAt }: ClaimedMail, { kind, to }: Pick<Letter, 'kind' | 'to'>) {
    return { mailId, kind, recipient: to, requestedAt }
  }

  /** Looks up what the mail needs. Undefined if the mail is not wanted. */
  async function prepare(mail: ClaimedMail): Promise<Letter | undefined> {
    if (isNotice(mail)) return { kind: mail.kind, to: mail.address ?? mail.recipient, write: () => writeNotice(letterhead(), mail, now()) }
    const recipient = await findRecipient(db, mail.recipient, mail.kind, now())
    if (recipient === undefined) return undefined
    const { kind, id, version, to } = recipient
    const sent = { ...mail, kind }
    if (kind !== 'sign_in')
      return { kind, to, write: () => writeMail(letterhead(), sent, recipient, { token: tokens.forMail(kind, id, version) }, now()) }
    const signIn = signInVersion(mail)
    await openSignIn(db, mail.recipient, signIn, version, now() + LIFETIME_MINUTES.sign_in * 60_000)
    const code = tokens.codeOf(id, signIn)
    return { kind, to, write: () => writeMail(letterhead(), sent, recipient, { token: tokens.forMail(kind, id, signIn), code }, now()) }
  }

  /** Logged once per outage, in which some mails may still pass. */
  function lookUpFailed(mail: ClaimedMail, error: unknown): Outcome {
    if (now() - lookUpFailedAt > OUTAGE_OVER_MS) logger.warn({ err: error, outboxId: mail.id }, 'mail waits for the database')
    lookUpFailedAt = now()
    const dueAt = now() + retryDelayMs('server', mail.attempts, now() - mail.requestedAt, random)
    return () => holdMail(db, mail, dueAt, 'the account could not be looked up')
  }

  /**
   * An unwanted mail is dropped silently: a log line or a counter would show which addresses have an account. It is dropped no sooner
   * than others are sent during an outage, because the metrics show to everyone how many mails wait.
   */
  async function unwanted(mail: ClaimedMail): Promise<Outcome> {
    try {
      await server.requireAvailable()
    } catch (error) {
      if (now() - mail.requestedAt < RETRIED_FOR_MS) return failed(mail, error, 'check')
    }
    const at = now()
    return () =>
      db.transaction(async (tx) => {
        // Admins see that a mail was requested for an account. Anybody may name an address without one: nothing is kept about those.
        const isKept = mail.kind === 'invitation' || (await hasAccount(tx, mail.recipient))
        if (isKept) await recordMail(tx, { ...stepOf(mail, { kind: mail.kind, to: mail.address ?? mail.recipient }), at })
        await finish(tx, mail)
      })
  }

  /** A request that arrived while the mail was being sent gets its own mail. */
  async function finish(queries: Queries, mail: ClaimedMail): Promise<void> {
    if (!(await removeMail(queries, mail))) await requeueMail(queries, mail, now())
  }

  /** Without a letter nobody learns about the mail: it is unwanted, and only waits like the others. */
  function failed(mail: ClaimedMail, cause: unknown, operation: Operation, letter?: Letter): Outcome {
    const error = cause instanceof MailError ? cause : unexpected(mail, cause)
    if (error.scope === 'server') server.noteOutage(error, operation)
    else server.noteReached(operation)
    const ageMs = now() - mail.requestedAt
    if (error.scope === 'recipient' || ageMs >= RETRIED_FOR_MS) return () => giveUp(mail, error, letter)
    if (error.scope === 'message' && mail.attempts === 0) logger.warn(describe(mail, error), 'a mail was rejected and is retried')
    const dueAt = now() + retryDelayMs(error.scope, mail.attempts, ageMs, random)
    const putOff = operation === 'check' ? holdMail : postponeMail
    const at = now()
    return () =>
      db.transaction(async (tx) => {
        if (letter) await recordMail(tx, { ...stepOf(mail, letter), at, error: error.message })
        await putOff(tx, mail, dueAt, error.message)
      })
  }

  function unexpected(mail: ClaimedMail, cause: unknown): MailError {
    logger.error({ err: cause, outboxId: mail.id, kind: mail.kind }, 'a mail could not be written')
    return new MailError('message', 'the mail could not be written', { cause })
  }

  async function giveUp(mail: ClaimedMail, error: MailError, letter: Letter | undefined): Promise<void> {
    const isGivenUp = await db.transaction(async (tx) => {
      const isEnd = await giveUpMail(tx, mail, now(), error.message)
      if (letter) await recordMail(tx, { ...stepOf(mail, letter), at: now(), error: error.message, ...(isEnd && { outcome: 'given_up' }) })
      return isEnd
    })
    if (!isGivenUp) return requeueMail(db, mail, now())
    logger.error(describe(mail, error), 'a mail could not be delivered and is given up')
  }

  /** Removes the addresses of old failed mails. True when there may be more. */
  async function forgetFailed(): Promise<boolean> {
    if (now() < forgetsAt) return false
    const hasMore = (await forgetFailedMails(db, now() - FAILED_KEPT_MS, PRUNE_BATCH).catch(() => 0)) === PRUNE_BATCH
    if (!hasMore) forgetsAt = now() + FORGET_EVERY_MS
    return hasMore
  }

  return {
    attempt,
    claim: (claim) => claimMails(db, claim),
    renew: (mail, leaseEndsAt) => extendLease(db, mail, leaseEndsAt),
    release: (mail) => releaseMail(db, mail, now()),
    /** Keeps a flood of unwanted mails from delaying others. Errors are ignored here: sending a mail meets them again and logs them. */
    async prune() {
      if (await forgetFailed()) return true
      if (!server.isTrusted()) return false
      return (await removeUnwantedMails(db, now(), PRUNE_BATCH).catch(() => 0)) === PRUNE_BATCH
    },
    close: () => transport.close(),
  }
}

const VERSION_BYTES = 6

/**
 * Names a sign-in mail. Every attempt to send it has the same link and code: a server that seems to have failed may have accepted the mail.
 */
function signInVersion({ id, revision, requestedAt }: ClaimedMail): number {
  return createHash('sha256')
    .update(JSON.stringify([id, revision, requestedAt]))
    .digest()
    .readUIntBE(0, VERSION_BYTES)
}

function describe({ id, kind, attempts }: ClaimedMail, { message }: MailError) {
  return { outboxId: id, kind, attempts: attempts + 1, reason: message }
}

/** The operation that failed: a check, which concerns every mail, or the sending of one mail. */
type Operation = 'check' | 'sending'

// A server that has just accepted a mail needs no check.
const TRUSTED_MS = 10_000

/** Whether the mail server can be used. An outage is logged once when it begins and once when it ends, not with each mail that waits. */
function createMailServerStatus({ transport, now, logger }: MailDispatcherParts) {
  let outageSeenBy: Operation | undefined
  let reachedAt = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | undefined

  function isTrusted(): boolean {
    return now() - reachedAt <= TRUSTED_MS
  }

  function isOutage(): boolean {
    return outageSeenBy !== undefined
  }

  /** Throws MailError during an outage. Concurrent callers share one check. */
  async function requireAvailable(): Promise<void> {
    if (isTrusted()) return
    checking ??= transport.check().finally(() => {
      checking = undefined
    })
    await checking
    noteReached('check')
  }

  function noteOutage(error: MailError, operation: Operation): void {
    reachedAt = Number.NEGATIVE_INFINITY
    if (outageSeenBy === undefined) logger.warn({ reason: error.message }, 'mail cannot be sent; it waits and is retried')
    outageSeenBy = operation
  }

  /** A server may pass a check and still accept no mail, so an outage that was found while sending ends only when a mail is accepted. */
  function noteReached(operation: Operation): void {
    reachedAt = now()
    if (outageSeenBy === undefined || (outageSeenBy === 'sending' && operation === 'check')) return
    outageSeenBy = undefined
    logger.info('mail can be sent again')
  }

  return { isTrusted, isOutage, requireAvailable, noteOutage, noteReached }
}

const FIRST_DELAY_MS = 2_000
// All mail is sent within 30 seconds after a mail server that hung recovers: the timeout, this delay, and the time until the next poll.
const MAX_DELAY_MS = 12_000
const MAX_DELAY_OF_OLD_MS = 5 * 60_000
const OLD_AFTER_MS = 60 * 60_000

/**
 * The delay before the next attempt. It doubles each time; a random part, at most half of it, spreads mails that failed together.
 * A mail that the server keeps rejecting is retried less often after an hour.
 */
export function retryDelayMs(scope: MailErrorScope, attempts: number, ageMs: number, random: () => number): number {
  const max = scope === 'message' && ageMs > OLD_AFTER_MS ? MAX_DELAY_OF_OLD_MS : MAX_DELAY_MS
  const delay = Math.min(FIRST_DELAY_MS * 2 ** Math.min(attempts, 20), max)
  return Math.round(delay * (1 - random() / 2))
}
