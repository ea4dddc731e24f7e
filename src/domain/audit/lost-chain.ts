import type { AuditProblem } from '../../model/audit.ts'
import { type AuditSeals, digestOf, eventContent } from '../../security/audit-seals.ts'
import type { Reads } from '../../storage/database.ts'
import { findLastOfKind, findServiceEvent } from '../../storage/repositories/audit/event-seal.repository.ts'

const SEALED_AFTER_MS = 60_000

/**
 * Why a trail without a chain cannot be a new one; undefined if it can. A service seals its events within a second or two, unless it is
 * killed before. Those of commands wait for the first start, and those that an operator has accepted with `audit reseal` are sealed again.
 */
export async function findLostChain(reads: Reads, seals: AuditSeals): Promise<AuditProblem | undefined> {
  const eventId = await findServiceEvent(reads, await acceptedUntil(reads, seals), SEALED_AFTER_MS)
  if (eventId === undefined) return undefined
  const reason = 'the service wrote other events more than a minute after this one, and there is no chain: it was removed'
  return { eventId, position: undefined, reason }
}

async function acceptedUntil(reads: Reads, seals: AuditSeals): Promise<number> {
  const event = await findLastOfKind(reads, 'audit.resealed')
  if (event === undefined) return 0
  const isOurs = seals.check('event', eventContent(event, digestOf(event)), event) === 'valid'
  return isOurs ? event.at : 0
}
