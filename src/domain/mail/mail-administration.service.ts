import type { Actor, Operator } from '../../model/caller.ts'
import type { OutboxMail } from '../../model/mail.ts'
import {
  countMails,
  discardMail,
  findMail,
  listMailsAfter,
  listMailsBefore,
  retryMail,
} from '../../storage/repositories/mail/mail.repository.ts'
import { changeAsAdmin, type DomainParts, pagesOf } from '../changes/changes.ts'

export type MailAdministration = ReturnType<typeof createMailAdministration>

const LIST_PAGE_SIZE = 500

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & Partial<Pick<DomainParts, 'onMailQueued'>>

/** What an operator or an admin may do with the mails in the outbox. */
export function createMailAdministration({ reads, changes, now, onMailQueued = () => undefined }: Parts) {
  return {
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
    discard: (by: Actor | Operator, mailId: number) => changeAsAdmin(changes, by, (tx) => discardMail(tx, mailId, now())),
  }
}
