import { createHmac } from 'node:crypto'
import type { WebhookEvent } from '../../model/webhook.ts'

/** A request to the receiver, signed for the moment of its attempt. */
export type WebhookMessage = { readonly headers: Readonly<Record<string, string>>; readonly body: string }

/** An event of the service, or the test event, which is about nobody. */
export type SentEvent = Pick<WebhookEvent, 'messageId' | 'occurredAt'> & {
  readonly type: WebhookEvent['type'] | 'webhook.test'
  readonly userId?: number | undefined
  readonly keyId?: string | undefined
  readonly sessionId?: string | undefined
}

/** Writes and signs an event as Standard Webhooks describes it, with one signature for each secret. */
export function writeWebhook(event: SentEvent, secrets: readonly Uint8Array[], sentAt: number): WebhookMessage {
  const body = bodyOf(event)
  const timestamp = Math.floor(sentAt / 1000)
  const signed = `${event.messageId}.${timestamp}.${body}`
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': event.messageId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': secrets.map((secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`).join(' '),
    },
  }
}

/** The same for every attempt. JSON leaves out ids that the event does not have. */
function bodyOf({ type, occurredAt, userId, keyId, sessionId }: SentEvent): string {
  const data = { user_id: userId, key_id: keyId, session_id: sessionId }
  return JSON.stringify({ type, timestamp: new Date(occurredAt).toISOString(), data })
}
