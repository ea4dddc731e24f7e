import { randomUUID } from 'node:crypto'
import type { Event } from '../../model/event.ts'
import { isWebhookType, type WebhookEvent, type WebhookType } from '../../model/webhook.ts'
import { createAuditSeals } from '../../security/audit-seals.ts'
import type { Secrets } from '../../security/derived-keys.ts'
import { insertWebhook } from '../../storage/repositories/webhooks/webhook.repository.ts'
import { createEventStore } from '../audit/audit.service.ts'
import { queueNotices } from '../mail/security-notices.ts'
import type { FollowUp } from './changes.ts'

type FollowUpParts = {
  readonly secrets: Secrets
  readonly webhooks?: WebhookSubscription | undefined
  /** Whether the owners of accounts get mails about changes of their security. */
  readonly securityNotices?: boolean | undefined
}

/** Everything that is written together with a change, whether it comes from a request, the command line or the start of the service. */
export function createFollowUps({ secrets, webhooks, securityNotices }: FollowUpParts): readonly FollowUp[] {
  const eventStore = createEventStore(createAuditSeals(secrets))
  return [eventStore, ...(webhooks ? [createWebhookQueue(webhooks)] : []), ...(securityNotices ? [queueNotices] : [])]
}

/** The receiver of WEBHOOK_URL, and the events that it gets. */
type WebhookSubscription = { readonly endpoint: string; readonly types: readonly WebhookType[] }

/** Queues a webhook for each event that the receiver gets. */
function createWebhookQueue({ types }: Pick<WebhookSubscription, 'types'>): FollowUp {
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
