import type { AuditVerification, EventFilter, EventPlace, VerifyOptions } from '../../model/audit.ts'
import type { Actor, Operator } from '../../model/caller.ts'
import { type AuditedEvent, type EventDetail, isAudited, type StoredEvent } from '../../model/event.ts'
import { type AuditSeals, createAuditSeals, createSalt, erasableDigest, eventContent } from '../../security/audit-seals.ts'
import type { Secrets } from '../../security/derived-keys.ts'
import type { FinalStatement } from '../../storage/database.ts'
import { eraseEvents, insertEvent, listEvents, listEventsAfter } from '../../storage/repositories/audit/event.repository.ts'
import { requireReader } from '../changes/callers.ts'
import type { ChangeTransaction, DomainParts, FollowUp } from '../changes/changes.ts'
import { verifyTrail } from './verification.ts'

export type EventQuery = EventFilter & { readonly cursor?: EventPlace | undefined; readonly size: number }
export type EventPage = { readonly items: readonly StoredEvent[]; readonly next: EventPlace | undefined }

/** The audit trail, for admins and operators. */
export type Audit = {
  /** One page, newest first. `next` is the cursor of the page after it. */
  list(query: EventQuery): Promise<EventPage>
  /** All events, oldest first, one page at a time, as long as the caller may read them. Leaves an event itself. */
  export(by: Actor | Operator): Promise<AsyncIterable<readonly StoredEvent[]>>
  verify(options?: VerifyOptions): Promise<AuditVerification>
  /** Erases address and details of the sealed events of a user. Returns of how many. The chain still verifies. */
  erase(operator: Operator, userId: number): Promise<number>
}

export const EVENT_PAGE_MAX_SIZE = 100
export const EVENT_PAGE_SIZE = 50
const ALL_PAGE_SIZE = 500
const ERASE_BATCH_SIZE = 500

export function createAudit({
  reads,
  lists,
  changes,
  secrets,
  now,
}: Pick<DomainParts, 'reads' | 'lists' | 'changes' | 'now'> & { readonly secrets: Secrets }): Audit {
  const seals = createAuditSeals(secrets)

  async function* all({ caller }: Actor | Operator): AsyncIterable<readonly StoredEvent[]> {
    for (let lastId = 0; ; ) {
      if (caller !== 'operator') await requireReader(reads, caller, now())
      const page = await listEventsAfter(lists, lastId, ALL_PAGE_SIZE)
      if (page.length > 0) yield page
      if (page.length < ALL_PAGE_SIZE) return
      lastId = page.at(-1)?.id ?? lastId
    }
  }

  return {
    async export(by) {
      const { caller, origin } = by
      const record = async (tx: ChangeTransaction) => tx.record({ kind: 'data.exported' })
      if (caller === 'operator') await changes.withoutCaller(origin, record)
      else await changes.toAccount({ caller, origin }, { userId: caller.user.id, allowed: 'admin' }, record)
      return all(by)
    },
    async list({ cursor, size, ...filter }) {
      const items = await listEvents(lists, filter, startOf(filter, cursor), size + 1)
      const page = items.slice(0, size)
      const last = items.length > size ? page.at(-1) : undefined
      return { items: page, next: last && { at: last.at, id: last.id } }
    },
    verify: (options) => verifyTrail(reads, seals, options),
    async erase({ origin }, userId) {
      let erased = 0
      for (let rows = ERASE_BATCH_SIZE; rows === ERASE_BATCH_SIZE; erased += rows)
        rows = await changes.withoutCaller(origin, async (tx) => {
          const count = await eraseEvents(tx, userId, ERASE_BATCH_SIZE)
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
