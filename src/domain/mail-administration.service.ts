import type { Operator } from '../model/caller.ts'
import type { OutboxMail } from '../model/mail.ts'
import { discardMail, retryMail } from '../storage/repositories/delivery/outbox.repository.ts'
import { findMail, listMailsAfter } from '../storage/repositories/delivery/outbox-inspection.repository.ts'
import type { DomainParts } from './parts.ts'

/** What an operator may do with the mails in the outbox. */
export type MailAdministration = {
  /** Lists pending and failed mails in order of id, one page at a time. */
  list(options: { readonly failedOnly: boolean }): AsyncIterable<readonly OutboxMail[]>
  /** Undefined if the mail is not in the outbox: it was delivered or discarded. */
  find(mailId: number): Promise<OutboxMail | undefined>
  /** Makes a mail due now, with all its attempts. False if it is being sent or is not in the outbox. */
  retry(operator: Operator, mailId: number): Promise<boolean>
  /** Removes a mail without sending it. False if it is being sent or is not in the outbox. */
  discard(operator: Operator, mailId: number): Promise<boolean>
}

const LIST_PAGE_SIZE = 500

export function createMailAdministration({ reads, changes, now }: Pick<DomainParts, 'reads' | 'changes' | 'now'>): MailAdministration {
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
    retry: ({ origin }, mailId) => changes.withoutCaller(origin, (tx) => retryMail(tx, mailId, now())),
    discard: ({ origin }, mailId) => changes.withoutCaller(origin, (tx) => discardMail(tx, mailId, now())),
  }
}
