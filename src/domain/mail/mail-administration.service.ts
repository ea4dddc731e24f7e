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
import type { DomainParts } from '../changes/changes.ts'
import { changeAsAdmin } from '../changes/changes.ts'

/** What an operator or an admin may do with the mails in the outbox. */
export type MailAdministration = {
  /** Lists pending and failed mails in order of id, one page at a time. */
  list(options: { readonly failedOnly: boolean }): AsyncIterable<readonly OutboxMail[]>
  /** One page, the newest first, starting below an id. */
  page(filter: 'all' | 'failed', beforeId: number | undefined, size: number): Promise<OutboxMail[]>
  counts(): Promise<{ readonly pending: number; readonly failed: number }>
  /** Undefined if the mail is not in the outbox: it was delivered or discarded. */
  find(mailId: number): Promise<OutboxMail | undefined>
  /** Makes a mail due now, with all its attempts. False if it is being sent or is not in the outbox. */
  retry(by: Actor | Operator, mailId: number): Promise<boolean>
  /** Removes a mail without sending it. False if it is being sent or is not in the outbox. */
  discard(by: Actor | Operator, mailId: number): Promise<boolean>
}

const LIST_PAGE_SIZE = 500

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & Partial<Pick<DomainParts, 'onMailQueued'>>

export function createMailAdministration({ reads, changes, now, onMailQueued = () => undefined }: Parts): MailAdministration {
  async function* list({ failedOnly }: { readonly failedOnly: boolean }): AsyncIterable<readonly OutboxMail[]> {
    for (let lastId = 0; ; ) {
      const page = await listMailsAfter(reads, lastId, LIST_PAGE_SIZE)
      const listed = failedOnly ? page.filter(({ failedAt }) => failedAt !== undefined) : page
      if (listed.length > 0) yield listed
      if (page.length < LIST_PAGE_SIZE) return
      lastId = page.at(-1)?.id ?? lastId
    }
  }

  return {
    list,
    find: (mailId) => findMail(reads, mailId),
    page: (filter, beforeId, size) => listMailsBefore(reads, { filter, beforeId, limit: size }),
    counts: () => countMails(reads),
    async retry(by, mailId) {
      const isRetried = await changeAsAdmin(changes, by, (tx) => retryMail(tx, mailId, now()))
      if (isRetried) onMailQueued()
      return isRetried
    },
    discard: (by, mailId) => changeAsAdmin(changes, by, (tx) => discardMail(tx, mailId, now())),
  }
}
