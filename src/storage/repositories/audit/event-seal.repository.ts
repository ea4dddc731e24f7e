import { AUDIT_MARK, type AuditMark, EVENT_SEAL, type EventSeal, WRITTEN_EVENT, type WrittenEvent } from '../../../model/audit.ts'
import { computed, entity, text, without } from '../../../model/entity.ts'
import type { AuditedKind } from '../../../model/event.ts'
import { type Reads, type StoredRow, statement, type Transaction } from '../../database.ts'
import { countsChanges, finds, findsIn, lists, runs } from '../../repository-functions.ts'
import { deleteListed, insertRows } from '../../tables.ts'

// An event has an HMAC too, so those of its link get other names.
const LINK = entity('event_seals', {
  ...without(EVENT_SEAL, 'mac', 'macKey').fields,
  linkMac: computed(text, 'event_seals.mac'),
  linkMacKey: computed(text, 'event_seals.mac_key'),
})

/** A link of the chain with its event, unless that was removed. */
export type ChainLink = { readonly seal: EventSeal; readonly event: WrittenEvent | undefined }
export type MarkName = 'anchor' | 'head'
type StrayLink = Pick<EventSeal, 'position' | 'eventId'>

// SQLite takes back the ids of a change that fails. PostgreSQL does not, and a crash of it skips up to 32. Events that are older than their
// SQLite database were copied into it, perhaps from PostgreSQL.
// One value per subquery: given min and max together, SQLite reads the whole table.
const FIND_IDS = statement<Record<'first' | 'last' | 'last_used' | 'max_unused', number | null>>({
  postgres: `select (select min(id) from events) as first, (select max(id) from events) as last, 100 as max_unused,
    (select pg_sequence_last_value(pg_get_serial_sequence('events', 'id')::regclass)) as last_used`,
  sqlite: `select (select min(id) from events) as first, (select max(id) from events) as last,
    (select seq from sqlite_sequence where name = 'events') as last_used,
    iif((select at from events order by id limit 1) < (select min(applied_at) from schema_migrations), 100, 0) as max_unused`,
})
const ADD_SEALS = statement(insertRows('event_seals', { keepsIds: true }))
const SET_MARK = statement(`
  insert into audit_marks (name, position, hash, marked_at, mac, mac_key) values ($1, $2, $3, $4, $5, $6)
  on conflict (name) do update set position = excluded.position, hash = excluded.hash, marked_at = excluded.marked_at,
    mac = excluded.mac, mac_key = excluded.mac_key`)
// With a lower bound, PostgreSQL neither passes what earlier batches have removed nor expects to find it again and reads all events.
const DELETE_EVENTS = statement(deleteListed('events', 'id', 'select event_id from event_seals where position > $1 and position <= $2'))
const DELETE_SEALS = statement('delete from event_seals where position > $1 and position <= $2')

type EventIds = {
  readonly first: number | undefined
  readonly last: number | undefined
  /** The highest id that was ever assigned, also to an event that no longer exists. */
  readonly lastUsed: number
  /** How many ids the database may have skipped before the first event. */
  readonly maxUnused: number
}

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
const FIND_UNSEALED = statement(
  {
    postgres: findUnsealedSql(`greatest($1::bigint, ${SEALED_UP_TO.postgres} - $2::bigint)`),
    sqlite: findUnsealedSql(`max($1, ${SEALED_UP_TO.sqlite} - $2)`),
  },
  toUnsealedEvent,
)
/** The time of the first event that waits to be sealed. SQLite commits in the order of the ids. */
export const OLDEST_UNSEALED = {
  postgres: `select events.at from events where events.id > ${SEALED_UP_TO.postgres} - ${STRAGGLERS} and ${IS_UNSEALED} order by events.id limit 1`,
  sqlite: `select events.at from events where events.id > ${SEALED_UP_TO.sqlite} and ${IS_UNSEALED} order by events.id limit 1`,
}

function findUnsealedSql(after: string): string {
  return `select ${UNSEALED_COLUMNS} from events where events.id > ${after} and ${IS_UNSEALED} order by events.id limit $3`
}

function positionOf(mark: MarkName): string {
  return `coalesce((select position from audit_marks where name = '${mark}'), 0)`
}

function toUnsealedEvent(row: StoredRow): UnsealedEvent {
  return { ...WRITTEN_EVENT.fromRow(row), isCopy: Boolean(row['is_copy']) }
}

function toChainLink(row: StoredRow): ChainLink {
  const { linkMac: mac, linkMacKey: macKey, ...sealed } = LINK.fromRow(row)
  // The columns of an event are null together: then the event does not exist.
  return { seal: { ...sealed, mac, macKey }, event: row['id'] === null ? undefined : WRITTEN_EVENT.fromRow(row) }
}

/** The lowest and the highest id of all events. */
export async function findEventIds(db: Reads): Promise<EventIds> {
  const row = await db.first(FIND_IDS)
  return { first: row?.first ?? undefined, last: row?.last ?? undefined, lastUsed: row?.last_used ?? 0, maxUnused: row?.max_unused ?? 0 }
}

export async function addSeals(tx: Transaction, seals: readonly EventSeal[]): Promise<void> {
  await tx.run(ADD_SEALS, JSON.stringify(seals.map(EVENT_SEAL.toRow)))
}

/** One page of the chain, in order. */
export const listLinks = lists<ChainLink, [afterPosition: number, limit: number]>(
  `select ${LINK.columns}, ${WRITTEN_EVENT.columns}
  from event_seals left join events on events.id = event_id where position > $1 order by position limit $2`,
  toChainLink,
)

/** A link before the beginning or after the end of the chain. Nobody but an intruder makes one. Links and marks change together. */
export const findStrayLink = finds<StrayLink, []>(`
  select position, event_id as "eventId" from (
    select position, event_id from event_seals where position <= ${positionOf('anchor')} order by position limit 1) as before
  union all
  select position, event_id from (
    select position, event_id from event_seals where position > ${positionOf('head')} order by position limit 1) as after
  limit 1`)

export const findMark = findsIn<AuditMark, [name: MarkName]>(AUDIT_MARK, 'where name = $1')

export async function setMark(tx: Transaction, name: MarkName, mark: AuditMark): Promise<void> {
  await tx.run(SET_MARK, name, ...AUDIT_MARK.toValues(mark))
}

/** Deletes links of the chain with their events: after the first position, up to the last. */
export async function deleteSealed(tx: Transaction, afterPosition: number, lastPosition: number): Promise<void> {
  await tx.run(DELETE_EVENTS, afterPosition, lastPosition)
  await tx.run(DELETE_SEALS, afterPosition, lastPosition)
}

/** Deletes the first links of the chain, without their events. Returns how many. */
export const deleteSomeSeals = countsChanges<Transaction, [limit: number]>(
  deleteListed('event_seals', 'position', 'select position from event_seals order by position limit $1'),
)

export const deleteMarks = runs<Transaction, []>('delete from audit_marks')

type UnsealedSearch = {
  readonly afterId: number
  readonly limit: number
  /** Whether to look for events far below the highest sealed id, too. */
  readonly isThorough: boolean
}

/** Events that are not sealed yet, in order of id. */
export function findUnsealed(tx: Transaction, { afterId, limit, isThorough }: UnsealedSearch): Promise<UnsealedEvent[]> {
  return tx.all(FIND_UNSEALED, afterId, isThorough ? FAR_STRAGGLERS : STRAGGLERS, limit)
}

export const findOldestUnsealed = finds<number, []>(OLDEST_UNSEALED, (row) => Number(row['at']))

/** The id of the last of the next events after an id; undefined if there are none. */
export const findWindowEnd = finds<number, [afterId: number, size: number]>(
  'select id from (select id from events where id > $1 order by id limit $2) as following order by id desc limit 1',
  (row) => Number(row['id']),
)

/** Every unsealed event with an id in a range, wherever it is. */
export const listUnsealed = lists<UnsealedEvent, [afterId: number, lastId: number]>(
  `select ${UNSEALED_COLUMNS} from events where events.id > $1 and events.id <= $2 and ${IS_UNSEALED} order by events.id`,
  toUnsealedEvent,
)

/** The id of the first event that a service has written after a time, if it has written another one so much later. */
export const findServiceEvent = finds<number, [after: number, laterByMs: number]>(
  `select first.id from events as first where first.via in ('http', 'console') and first.at > $1
    and exists (select 1 from events as later where later.via in ('http', 'console') and later.at > first.at + $2)
  order by first.at, first.id limit 1`,
  (row) => Number(row['id']),
)

export const findLastOfKind = findsIn<WrittenEvent, [kind: AuditedKind]>(WRITTEN_EVENT, 'where kind = $1 order by at desc, id desc limit 1')
