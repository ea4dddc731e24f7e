import { type AuditedEvent, type EventDetail, isAudited } from '../../model/event.ts'
import { type AuditSeals, createSalt, erasableDigest, eventContent } from '../../security/audit-seals.ts'
import type { FinalStatement } from '../../storage/database.ts'
import { insertEvent } from '../../storage/repositories/audit/event.repository.ts'
import type { FollowUp } from '../changes/changes.ts'

/**
 * Stores events in the audit trail. Each carries an HMAC of this process, so that a row which somebody else inserts is not mistaken for
 * an event (docs/decisions/0014-audit-chain.md).
 */
export function createEventStore(seals: Pick<AuditSeals, 'seal'>): FollowUp {
  return (events) => events.filter(isAudited).map((event) => storeEvent(seals, event))
}

function storeEvent(seals: Pick<AuditSeals, 'seal'>, event: AuditedEvent): FinalStatement {
  const { at, kind, actor = null, via, target = null, keyId = null, requestId = null, ip = null } = event
  const written = { at, kind, actor, via, target, keyId, requestId, ip, detail: detailOf(event) }
  const salt = createSalt()
  const seal = seals.seal('event', eventContent(written, erasableDigest(salt, written)))
  return insertEvent({ ...written, salt, ...seal })
}

function detailOf({ sessionId, changed, count, url }: AuditedEvent): string | null {
  const detail: EventDetail = { session_id: sessionId, changed, count, url }
  const text = JSON.stringify(detail)
  return text === '{}' ? null : text
}
