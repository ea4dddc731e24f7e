import type { EventKind } from './event.ts'
import type { OutboxEntry } from './mail.ts'

/** The kinds of events that webhooks report. An import is not reported: it may create a million accounts. */
export type WebhookType = Exclude<Extract<EventKind, `user.${string}` | `key.${string}` | `session.${string}`>, 'user.imported'>

/** What a receiver learns about an event: ids only. */
export type WebhookEvent = {
  /** The `webhook-id` of every attempt, by which a receiver recognises an event that arrives twice. */
  readonly messageId: string
  readonly type: WebhookType
  readonly userId: number
  readonly keyId: string | undefined
  readonly sessionId: string | undefined
  readonly occurredAt: number
}

/** A webhook that one process has claimed. No other process sends it until its lease expires. */
export type ClaimedWebhook = WebhookEvent & {
  readonly id: number
  /** The number of earlier attempts to deliver it. */
  readonly attempts: number
  /** The time from which the attempts are counted: of the event, or of the latest manual retry. */
  readonly requestedAt: number
  readonly lease: string
}

/** A webhook in the outbox, as an operator sees it. */
export type OutboxWebhook = WebhookEvent & OutboxEntry
