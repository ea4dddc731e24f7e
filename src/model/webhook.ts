import { choice, entity, instant, integer, optional, text, type ValuesOf } from './entity.ts'
import { AUDITED_KINDS, type EventKind } from './event.ts'
import { OUTBOX_FIELDS, QUEUED_FIELDS } from './mail.ts'

/** The kinds of events that webhooks report. An import is not reported: it may create a million accounts. */
type Subject = 'user' | 'key' | 'session' | 'factor' | 'passkey' | 'provider'
export type WebhookType = Exclude<Extract<EventKind, `${Subject}.${string}`>, 'user.imported'>

export const WEBHOOK_TYPES: readonly WebhookType[] = AUDITED_KINDS.filter(
  (kind) => /^(?:user|key|session|factor|passkey|provider)\./.test(kind) && kind !== 'user.imported',
) as WebhookType[]

export function isWebhookType(kind: string): kind is WebhookType {
  return WEBHOOK_TYPES.some((type) => type === kind)
}

/** What a receiver learns about an event: ids only. */
export const WEBHOOK_EVENT = entity('webhook_deliveries', {
  // The `webhook-id` of every attempt, by which a receiver recognises an event that arrives twice.
  messageId: text,
  type: choice<WebhookType>(),
  userId: integer,
  keyId: optional(text),
  sessionId: optional(text),
  occurredAt: instant,
})
export const QUEUED_WEBHOOK = entity('webhook_deliveries', { ...QUEUED_FIELDS, ...WEBHOOK_EVENT.fields })
/** A webhook in the outbox, as an operator sees it. */
export const OUTBOX_WEBHOOK = entity('webhook_deliveries', { ...WEBHOOK_EVENT.fields, ...OUTBOX_FIELDS })
/** An endpoint that has answered 410. */
export const WEBHOOK_STOP = entity('webhook_stops', { endpoint: text, stoppedAt: instant })

export type WebhookEvent = ValuesOf<typeof WEBHOOK_EVENT.fields>
export type OutboxWebhook = ValuesOf<typeof OUTBOX_WEBHOOK.fields>
export type WebhookStop = ValuesOf<typeof WEBHOOK_STOP.fields>
/** A webhook that one process has claimed. No other process sends it until its lease expires. */
export type ClaimedWebhook = ValuesOf<typeof QUEUED_WEBHOOK.fields> & { readonly lease: string }
