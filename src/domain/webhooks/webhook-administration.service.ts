import type { Actor, Operator } from '../../model/caller.ts'
import type { OutboxWebhook } from '../../model/webhook.ts'
import {
  discardWebhook,
  findWebhook,
  listWebhooks,
  measureWebhooks,
  resumeWebhooks,
  retryWebhook,
  type WebhookState,
} from '../../storage/repositories/webhooks/webhook.repository.ts'
import type { DomainParts } from '../changes/changes.ts'
import { changeAsAdmin } from '../changes/changes.ts'

export type WebhookListPage = {
  readonly items: readonly OutboxWebhook[] /** Undefined on the last page. */
  readonly next: number | undefined
}

/** What an operator or an admin may do with the webhooks in the outbox. */
export type WebhookAdministration = {
  /** Lists pending and failed webhooks in order of id, one page at a time. */
  list(options: { readonly failedOnly: boolean }): AsyncIterable<readonly OutboxWebhook[]>
  /** One page of the same list, starting after an id. */
  page(options: { readonly failedOnly: boolean; readonly after?: number; readonly size: number }): Promise<WebhookListPage>
  /** How many wait and failed, since when, and whether the receiver has answered 410. */
  state(): Promise<WebhookState>
  /** Undefined if the webhook is not in the outbox: it was delivered or discarded. */
  find(webhookId: number): Promise<OutboxWebhook | undefined>
  /** Makes a webhook due now, with all its attempts, and ends a stop. False if it is being sent or is not in the outbox. */
  retry(by: Actor | Operator, webhookId: number): Promise<boolean>
  /** Removes a webhook without sending it. False if it is being sent or is not in the outbox. */
  discard(by: Actor | Operator, webhookId: number): Promise<boolean>
  /** Sends again to a receiver that has answered 410. False if deliveries were not stopped. */
  resume(by: Actor | Operator): Promise<boolean>
}

type WebhookAdministrationParts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & {
  /** Names the URL of the settings in the database. */
  readonly endpoint?: string | undefined
}

const LIST_PAGE_SIZE = 500

export function createWebhookAdministration({ reads, changes, now, endpoint = '' }: WebhookAdministrationParts): WebhookAdministration {
  const page: WebhookAdministration['page'] = async ({ failedOnly, after = 0, size }) => {
    const items = await listWebhooks(reads, { after, size: size + 1, failedOnly })
    return { items: items.slice(0, size), next: items.length > size ? items[size - 1]?.id : undefined }
  }

  async function* list({ failedOnly }: { readonly failedOnly: boolean }): AsyncIterable<readonly OutboxWebhook[]> {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const { items, next }: WebhookListPage = await page({ failedOnly, after, size: LIST_PAGE_SIZE })
      if (items.length > 0) yield items
      after = next
    }
  }

  return {
    list,
    page,
    state: () => measureWebhooks(reads, endpoint),
    find: (webhookId) => findWebhook(reads, webhookId),
    retry: (by, webhookId) =>
      changeAsAdmin(changes, by, async (tx) => {
        const isDue = await retryWebhook(tx, webhookId, now())
        if (isDue) await resumeWebhooks(tx)
        return isDue
      }),
    discard: (by, webhookId) => changeAsAdmin(changes, by, (tx) => discardWebhook(tx, webhookId, now())),
    resume: (by) => changeAsAdmin(changes, by, (tx) => resumeWebhooks(tx)),
  }
}
