import { createAuditSeals } from '../security/audit-seals.ts'
import type { Secrets } from '../security/derived-keys.ts'
import { createEventStore } from './audit/event-store.ts'
import type { FollowUp } from './changes.ts'

export type FollowUpParts = { readonly secrets: Secrets }

/** Everything that is written together with a change, whether it comes from a request, the command line or the start of the service. */
export function createFollowUps({ secrets }: FollowUpParts): readonly FollowUp[] {
  return [createEventStore(createAuditSeals(secrets))]
}
