import { WRITTEN_EVENT, type WrittenEvent } from '../../../model/audit.ts'
import type { AuditedKind } from '../../../model/event.ts'
import { type Reads, type StoredRow, statement, type Transaction } from '../../database.ts'

/** An event that is not in the chain yet. A copy repeats another event, and nobody but an intruder makes one. */
export type UnsealedEvent = WrittenEvent & { readonly isCopy: boolean }

// `offset` keeps PostgreSQL from joining the whole tables: each event is looked up by the index.
const IS_UNSEALED = 'not exists (select 1 from event_seals where event_id = events.id limit 1 offset 0)'
// Transactions of PostgreSQL commit in another order than their ids, so a few ids below the highest one may not be sealed yet.
const STRAGGLERS = 200
const FAR_STRAGGLERS = 10_000
// The highest id at the end of the chain. The last one may belong to a commit that took very long: everything above it would be read again.
// An id that the database has not assigned yet was invented, and so was a link before the chain: they must not hide what follows.
const LAST_SEALED_ID = `coalesce((select max(event_id) from (
  select event_id from event_seals where position <= ${positionOf('head')} and position > ${positionOf('anchor')} order by position desc limit 100
) as latest), 0)`
const SEALED_UP_TO = {
  postgres: `(select least(${LAST_SEALED_ID}, pg_sequence_last_value(pg_get_serial_sequence('events', 'id')::regclass)))`,
  sqlite: `(select min(${LAST_SEALED_ID}, coalesce((select seq from sqlite_sequence where name = 'events'), 0)))`,
}
const UNSEALED_COLUMNS = `${WRITTEN_EVENT.columns}, exists (
  select 1 from events as other where other.at = events.at and other.mac = events.mac and other.id <> events.id
    and (other.id < events.id or exists (select 1 from event_seals where event_id = other.id))) as is_copy`
// One bound: given two, SQLite takes the first one and reads every event above it.
const FIND_UNSEALED = statement<StoredRow>(
  findUnsealedSql(`greatest($1::bigint, ${SEALED_UP_TO.postgres} - $2::bigint)`),
  findUnsealedSql(`max($1, ${SEALED_UP_TO.sqlite} - $2)`),
)
/** The time of the first event that waits to be sealed. SQLite commits in the order of the ids. */
export const OLDEST_UNSEALED = {
  postgres: `select events.at from events where events.id > ${SEALED_UP_TO.postgres} - ${STRAGGLERS} and ${IS_UNSEALED} order by events.id limit 1`,
  sqlite: `select events.at from events where events.id > ${SEALED_UP_TO.sqlite} and ${IS_UNSEALED} order by events.id limit 1`,
}
const FIND_OLDEST_UNSEALED = statement<{ at: number }>(OLDEST_UNSEALED.postgres, OLDEST_UNSEALED.sqlite)
const FIND_WINDOW_END = statement<{ last: number | null }>(
  'select max(id) as last from (select id from events where id > $1 order by id limit $2) as following',
)
const LIST_UNSEALED = statement<StoredRow>(
  `select ${UNSEALED_COLUMNS} from events where events.id > $1 and events.id <= $2 and ${IS_UNSEALED} order by events.id`,
)
const FIND_SERVICE_EVENT = statement<{ id: number }>(
  `select first.id from events as first where first.via in ('http', 'console') and first.at > $1
    and exists (select 1 from events as later where later.via in ('http', 'console') and later.at > first.at + $2)
  order by first.at, first.id limit 1`,
)
const FIND_LAST_OF_KIND = statement<StoredRow>(
  `select ${WRITTEN_EVENT.columns} from events where kind = $1 order by at desc, id desc limit 1`,
)

function positionOf(mark: 'head' | 'anchor'): string {
  return `coalesce((select position from audit_marks where name = '${mark}'), 0)`
}

function findUnsealedSql(after: string): string {
  return `select ${UNSEALED_COLUMNS} from events where events.id > ${after} and ${IS_UNSEALED} order by events.id limit $3`
}

/** Events that are not sealed yet, in order of id. Those far below the highest sealed id are looked for only by a thorough search. */
export async function findUnsealed(tx: Transaction, afterId: number, limit: number, isThorough: boolean): Promise<UnsealedEvent[]> {
  return (await tx.all(FIND_UNSEALED, afterId, isThorough ? FAR_STRAGGLERS : STRAGGLERS, limit)).map(toUnsealedEvent)
}

/** The time of the first event that waits to be sealed. */
export async function findOldestUnsealed(db: Reads): Promise<number | undefined> {
  return (await db.first(FIND_OLDEST_UNSEALED))?.at
}

/** The id of the last of the next events after an id; undefined if there are none. */
export async function findWindowEnd(db: Reads, afterId: number, size: number): Promise<number | undefined> {
  return (await db.first(FIND_WINDOW_END, afterId, size))?.last ?? undefined
}

/** Every unsealed event with an id in a range, wherever it is. */
export async function listUnsealed(db: Reads, afterId: number, lastId: number): Promise<UnsealedEvent[]> {
  return (await db.all(LIST_UNSEALED, afterId, lastId)).map(toUnsealedEvent)
}

/** The id of the first event that a service has written after a time, if it has written another one so much later. */
export async function findServiceEvent(db: Reads, after: number, laterByMs: number): Promise<number | undefined> {
  return (await db.first(FIND_SERVICE_EVENT, after, laterByMs))?.id
}

export async function findLastOfKind(db: Reads, kind: AuditedKind): Promise<WrittenEvent | undefined> {
  const row = await db.first(FIND_LAST_OF_KIND, kind)
  return row && WRITTEN_EVENT.fromRow(row)
}

function toUnsealedEvent(row: StoredRow): UnsealedEvent {
  return { ...WRITTEN_EVENT.fromRow(row), isCopy: Boolean(row['is_copy']) }
}
