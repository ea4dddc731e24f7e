import { randomUUID } from 'node:crypto'
import type { Event } from '../../model/event.ts'
import { isWebhookType, type WebhookEvent, type WebhookType } from '../../model/webhook.ts'
import { insertWebhook } from '../../storage/repositories/webhooks/webhook.repository.ts'
import type { FollowUp } from '../changes/changes.ts'

/** The receiver of WEBHOOK_URL, and the events that it gets. */
export type WebhookSubscription = { readonly endpoint: string; readonly types: readonly WebhookType[] }

/** Queues a webhook for each event that the receiver gets. */
export function createWebhookQueue({ types }: Pick<WebhookSubscription, 'types'>): FollowUp {
  return (events) =>
    events
      .flatMap(toWebhook)
      .filter(({ type }) => types.includes(type))
      .map(insertWebhook)
}

function toWebhook({ kind, target, keyId, sessionId, at }: Event): WebhookEvent[] {
  if (!isWebhookType(kind) || target === undefined) return []
  return [{ messageId: `msg_${randomUUID()}`, type: kind, userId: target, keyId, sessionId, occurredAt: at }]
}
