import type { Actor, Operator } from '../../model/caller.ts'
import type { MailRecord, OutboxMail, ShownMail } from '../../model/mail.ts'
import {
  countMails,
  discardMail,
  findMail,
  listMailsAfter,
  listMailsBefore,
  listWaitingMailsTo,
  retryMail,
} from '../../storage/repositories/mail/mail.repository.ts'
import {
  findRecorded,
  findWaiting,
  listMailRecords,
  listMailRecordsTo,
  recordMail,
} from '../../storage/repositories/mail/mail-history.repository.ts'
import { changeAsAdmin, type DomainParts, pagesOf } from '../changes/changes.ts'
import { emailKey } from '../values/email.ts'

export type MailAdministration = ReturnType<typeof createMailAdministration>

const LIST_PAGE_SIZE = 500
// Above every id.
const TOP = Number.MAX_SAFE_INTEGER

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & Partial<Pick<DomainParts, 'onMailQueued'>>

/** Part of the history of mails. */
type HistoryPage = { readonly to?: string | undefined; readonly beforeId?: number | undefined; readonly size: number }

/** What a test mail has led to: the answer of the server, or why there was none. */
export type TestResult = { readonly answer: string } | { readonly error: string }

/** What an operator or an admin may do with the mails in the outbox. */
export function createMailAdministration({ reads, changes, now, onMailQueued = () => undefined }: Parts) {
  async function shown(records: readonly MailRecord[]): Promise<ShownMail[]> {
    const open = records.filter(({ outcome }) => outcome === undefined)
    const waiting = await findWaiting(
      reads,
      open.map(({ mailId }) => mailId),
    )
    return records.map((record) => ({ ...record, state: record.outcome ?? (waiting.has(record.mailId) ? 'waiting' : 'dropped') }))
  }

  /** Those among the mails in the outbox that were not tried yet. */
  async function untried(queued: readonly OutboxMail[]): Promise<ShownMail[]> {
    const known = await findRecorded(
      reads,
      queued.map(({ id }) => id),
    )
    return queued.filter(({ id }) => !known.has(id)).map(requested)
  }

  return {
    /**
     * What became of the mails of the last 30 days, the newest first, or of those below an id. With an address: of those to it, after the ones
     * that still wait in the outbox for their first attempt.
     */
    async history({ to, beforeId = TOP, size }: HistoryPage): Promise<ShownMail[]> {
      if (to === undefined) return shown(await listMailRecords(reads, beforeId, size))
      const [queued, records] = await Promise.all([
        beforeId === TOP ? listWaitingMailsTo(reads, emailKey(to), size) : [],
        listMailRecordsTo(reads, emailKey(to), beforeId, size),
      ])
      return [...(await untried(queued)), ...(await shown(records))].slice(0, size)
    },
    /** Adds a test mail, which is sent directly, to the history. */
    recordTest: (by: Actor | Operator, to: string, requestedAt: number, result: TestResult) =>
      changeAsAdmin(changes, by, (tx) => {
        const end = 'answer' in result ? ({ ...result, outcome: 'delivered' } as const) : ({ ...result, outcome: 'given_up' } as const)
        return recordMail(tx, { mailId: 0, kind: 'test', recipient: to, requestedAt, at: now(), ...end })
      }),
    /** Lists pending and failed mails in order of id, one page at a time. */
    async *list({ failedOnly }: { readonly failedOnly: boolean }): AsyncIterable<readonly OutboxMail[]> {
      for await (const page of pagesOf(LIST_PAGE_SIZE, (afterId) => listMailsAfter(reads, afterId, LIST_PAGE_SIZE))) {
        const listed = failedOnly ? page.filter(({ failedAt }) => failedAt !== undefined) : page
        if (listed.length > 0) yield listed
      }
    },
    /** Undefined if the mail is not in the outbox: it was delivered or discarded. */
    find: (mailId: number) => findMail(reads, mailId),
    /** One page, the newest first, starting below an id. */
    page: (filter: 'all' | 'failed', beforeId: number | undefined, size: number) =>
      listMailsBefore(reads, { filter, beforeId, limit: size }),
    counts: () => countMails(reads),
    /** Makes a mail due now, with all its attempts. False if it is being sent or is not in the outbox. */
    async retry(by: Actor | Operator, mailId: number): Promise<boolean> {
      const isRetried = await changeAsAdmin(changes, by, (tx) => retryMail(tx, mailId, now()))
      if (isRetried) onMailQueued()
      return isRetried
    },
    /** Removes a mail without sending it. False if it is being sent or is not in the outbox. */
    discard: (by: Actor | Operator, mailId: number) =>
      changeAsAdmin(changes, by, async (tx) => {
        const mail = await findMail(tx, mailId)
        const isDiscarded = await discardMail(tx, mailId, now())
        // The history of a mail that was given up has ended already.
        if (mail && isDiscarded && mail.failedAt === undefined) await recordMail(tx, { ...mail, mailId, at: now(), outcome: 'discarded' })
        return isDiscarded
      }),
  }
}

/** A mail that is in the outbox, and not in the history yet: the whole history is below it. */
function requested({ id, kind, recipient, requestedAt, attempts, lastError }: OutboxMail): ShownMail {
  const errors = lastError === undefined ? [] : [{ error: lastError, firstAt: requestedAt, lastAt: requestedAt, count: attempts }]
  return { id: TOP - 1, mailId: id, kind, recipient, requestedAt, at: requestedAt, attempts, errors, state: 'waiting' }
}
