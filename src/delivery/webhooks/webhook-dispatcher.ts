import type { WebhookSettings } from '../../config/webhook.ts'
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../dispatcher.ts'
import { createWebhookDelivery, type WebhookDeliveryParts } from './webhook.delivery.ts'
import { createWebhookTransport } from './webhook.transport.ts'

export type WebhookDispatcherParts = Pick<WebhookDeliveryParts, 'db' | 'onAttempt'> &
  DispatcherOptions & {
    /** How long the receiver may take to answer. */
    readonly deadlineMs?: number
  }

/** Sends the webhooks of the outbox to the receiver of the settings. */
export function createWebhookDispatcher(
  { url, endpoint, secrets }: WebhookSettings,
  { random = Math.random, deadlineMs, ...parts }: WebhookDispatcherParts,
): Dispatcher {
  const transport = createWebhookTransport(url, deadlineMs)
  return createDispatcher(createWebhookDelivery({ ...parts, endpoint, secrets, transport, random }), { ...parts, random })
}
