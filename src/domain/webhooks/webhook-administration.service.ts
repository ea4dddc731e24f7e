import type { Actor, Operator } from '../../model/caller.ts'
import {
  discardWebhook,
  findWebhook,
  listWebhooks,
  measureWebhooks,
  resumeWebhooks,
  retryWebhook,
} from '../../storage/repositories/webhooks/webhook.repository.ts'
import { changeAsAdmin, type DomainParts, pagesOf } from '../changes/changes.ts'

export type WebhookAdministration = ReturnType<typeof createWebhookAdministration>

type WebhookAdministrationParts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & {
  /** Names the URL of the settings in the database. */
  readonly endpoint?: string | undefined
}

const LIST_PAGE_SIZE = 500

/** What an operator or an admin may do with the webhooks in the outbox. */
export function createWebhookAdministration({ reads, changes, now, endpoint = '' }: WebhookAdministrationParts) {
  return {
    /** Whether no receiver is set. */
    isOff: endpoint === '',
    /** Lists pending and failed webhooks in order of id, one page at a time. */
    list: ({ failedOnly }: { readonly failedOnly: boolean }) =>
      pagesOf(LIST_PAGE_SIZE, (after) => listWebhooks(reads, { after, size: LIST_PAGE_SIZE, failedOnly })),
    /** One page of the same list, starting after an id. `next` is undefined on the last page. */
    async page({ failedOnly, after = 0, size }: { readonly failedOnly: boolean; readonly after?: number; readonly size: number }) {
      const items = await listWebhooks(reads, { after, size: size + 1, failedOnly })
      return { items: items.slice(0, size), next: items.length > size ? items[size - 1]?.id : undefined }
    },
    /** How many wait and failed, since when, and whether the receiver has answered 410. */
    state: () => measureWebhooks(reads, endpoint),
    /** Undefined if the webhook is not in the outbox: it was delivered or discarded. */
    find: (webhookId: number) => findWebhook(reads, webhookId),
    /** Makes a webhook due now, with all its attempts, and ends a stop. False if it is being sent or is not in the outbox. */
    retry: (by: Actor | Operator, webhookId: number) =>
      changeAsAdmin(changes, by, async (tx) => {
        const isDue = await retryWebhook(tx, webhookId, now())
        if (isDue) await resumeWebhooks(tx)
        return isDue
      }),
    /** Removes a webhook without sending it. False if it is being sent or is not in the outbox. */
    discard: (by: Actor | Operator, webhookId: number) => changeAsAdmin(changes, by, (tx) => discardWebhook(tx, webhookId, now())),
    /** Sends again to a receiver that has answered 410. False if deliveries were not stopped. */
    resume: (by: Actor | Operator) => changeAsAdmin(changes, by, (tx) => resumeWebhooks(tx)),
  }
}
