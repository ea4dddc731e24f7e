import type { EventKind } from '../../model/event.ts'
import type { WebhookType } from '../../model/webhook.ts'

// An object, so that a type that is missing here does not compile.
const ALL: Readonly<Record<WebhookType, true>> = {
  'user.registered': true,
  'user.verified': true,
  'user.edited': true,
  'user.password_changed': true,
  'user.password_reset': true,
  'user.promoted': true,
  'user.demoted': true,
  'user.banned': true,
  'user.unbanned': true,
  'user.deleted': true,
  'session.created': true,
  'session.revoked': true,
  'key.created': true,
  'key.changed': true,
  'key.rotated': true,
  'key.revoked': true,
  'key.leaked': true,
}

// The keys of the object are exactly the types.
export const WEBHOOK_TYPES = Object.keys(ALL) as readonly WebhookType[]

export function isWebhookType(kind: EventKind | string): kind is WebhookType {
  return Object.hasOwn(ALL, kind)
}
