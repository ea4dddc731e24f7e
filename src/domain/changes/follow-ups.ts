import { createAuditSeals } from '../../security/audit-seals.ts'
import type { Secrets } from '../../security/derived-keys.ts'
import { createEventStore } from '../audit/audit.service.ts'
import { queueNotices } from '../mail/security-notices.ts'
import { createWebhookQueue, type WebhookSubscription } from '../webhooks/webhook-queue.ts'
import type { FollowUp } from './changes.ts'

export type FollowUpParts = {
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
