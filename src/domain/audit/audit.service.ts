import type { EventFilter, EventPlace, VerifyOptions } from '../../model/audit.ts'
import type { Actor, Operator } from '../../model/caller.ts'
import { type AuditedEvent, type EventDetail, isAudited, type StoredEvent } from '../../model/event.ts'
import { type AuditSeals, createAuditSeals, createSalt, erasableDigest, eventContent } from '../../security/audit-seals.ts'
import type { Secrets } from '../../security/derived-keys.ts'
import type { FinalStatement } from '../../storage/database.ts'
import { eraseEvents, insertEvent, listEvents, listEventsAfter } from '../../storage/repositories/audit/event.repository.ts'
import { requireReader } from '../changes/callers.ts'
import { changeAsAdmin, type DomainParts, type FollowUp, pagesOf } from '../changes/changes.ts'
import { verifyTrail } from './verification.ts'

export type EventQuery = EventFilter & { readonly cursor?: EventPlace | undefined; readonly size: number }
export type EventPage = { readonly items: readonly StoredEvent[]; readonly next: EventPlace | undefined }
export type Audit = ReturnType<typeof createAudit>

export const EVENT_PAGE_MAX_SIZE = 100
export const EVENT_PAGE_SIZE = 50
const BATCH_SIZE = 500

type Parts = Pick<DomainParts, 'reads' | 'lists' | 'changes' | 'now'> & { readonly secrets: Secrets }

/** The audit trail, for admins and operators. */
export function createAudit({ reads, lists, changes, secrets, now }: Parts) {
  const seals = createAuditSeals(secrets)

  return {
    /** All events, oldest first, one page at a time, as long as the caller may read them. Leaves an event itself. */
    async export(by: Actor | Operator): Promise<AsyncIterable<readonly StoredEvent[]>> {
      const { caller } = by
      await changeAsAdmin(changes, by, async (tx) => tx.record({ kind: 'data.exported' }))
      return pagesOf(BATCH_SIZE, async (afterId) => {
        if (caller !== 'operator') await requireReader(reads, caller, now())
        return listEventsAfter(lists, afterId, BATCH_SIZE)
      })
    },
    /** One page, newest first. `next` is the cursor of the page after it. */
    async list({ cursor, size, ...filter }: EventQuery): Promise<EventPage> {
      const items = await listEvents(lists, filter, startOf(filter, cursor), size + 1)
      const page = items.slice(0, size)
      const last = items.length > size ? page.at(-1) : undefined
      return { items: page, next: last && { at: last.at, id: last.id } }
    },
    verify: (options?: VerifyOptions) => verifyTrail(reads, seals, options),
    /** Erases address and details of the sealed events of a user. Returns of how many. The chain still verifies. */
    async erase({ origin }: Operator, userId: number): Promise<number> {
      let erased = 0
      for (let rows = BATCH_SIZE; rows === BATCH_SIZE; erased += rows)
        rows = await changes.withoutCaller(origin, async (tx) => {
          const count = await eraseEvents(tx, userId, BATCH_SIZE)
          // With each batch, so that the trail explains what is erased whenever the command is interrupted.
          if (count > 0) tx.record({ kind: 'data.erased', target: userId, count })
          return count
        })
      return erased
    },
  }
}

/** The place before which the list begins. */
function startOf({ until }: EventFilter, cursor: EventPlace | undefined): EventPlace {
  const end = { at: until ?? Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER }
  return cursor === undefined || cursor.at > end.at ? end : cursor
}

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
