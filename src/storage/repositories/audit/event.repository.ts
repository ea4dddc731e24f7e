import type { EventFilter, EventPlace, Seal, WrittenEvent } from '../../../model/audit.ts'
import type { StoredEvent } from '../../../model/event.ts'
import { type FinalStatement, longRead, type Reads, type Statement, statement, type Transaction } from '../../database.ts'

export type EventRow = {
  readonly id: number
  readonly at: number
  readonly kind: string
  readonly actor: number | null
  readonly via: string
  readonly target: number | null
  readonly key_id: string | null
  readonly request_id: string | null
  readonly ip: string | null
  readonly detail: string | null
}

export type WrittenRow = EventRow & { readonly salt: string | null; readonly mac: string; readonly mac_key: string }

export const EVENT_COLUMNS =
  'events.id, events.at, events.kind, events.actor, events.via, events.target, events.key_id, events.request_id, events.ip, events.detail'
export const WRITTEN_COLUMNS = `${EVENT_COLUMNS}, events.salt, events.mac, events.mac_key`

const INSERT = statement(`
  insert into events (at, kind, actor, via, target, key_id, request_id, ip, detail, salt, mac, mac_key)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`)
// The first condition decides which index is read: the one that leaves the fewest events.
const LISTS = {
  target: list('target = $6'),
  actor: list('actor = $5'),
  kind: list('kind = $4'),
  time: list('true'),
}
const LIST_AFTER = statement<EventRow>(`select ${EVENT_COLUMNS} from events where id > $1 order by id limit $2`)
const LIST_WRITTEN = statement<EventRow & { salt: string | null }>(
  `select ${EVENT_COLUMNS}, salt from events where id > $1 order by id limit $2`,
)
const SIGN = statement('update events set mac = $2, mac_key = $3 where id = $1')
const ERASE = statement(`
  update events set ip = null, detail = null, salt = null
  where id in (
    select event_id from event_seals join events on events.id = event_id
    where salt is not null and kind <> 'data.erased' and (target = $1 or actor = $1) limit $2)`)

function list(first: string): Statement<EventRow> {
  // SQLite infers no type for a value that is only compared with null.
  return longRead<EventRow>(`
    select ${EVENT_COLUMNS} from events
    where ${first} and (at, id) < (cast($1 as bigint), cast($2 as bigint)) and at >= cast($3 as bigint)
      and (cast($4 as text) is null or kind = $4)
      and (cast($5 as bigint) is null or actor = cast($5 as bigint))
      and (cast($6 as bigint) is null or target = cast($6 as bigint))
    order by at desc, id desc limit cast($7 as bigint)`)
}

/** The statement that stores an event. It runs at the end of the transaction of the change. */
export function insertEvent(event: Omit<WrittenEvent, 'id'>): FinalStatement {
  const { at, kind, actor, via, target, keyId, requestId, ip, detail, salt, mac, macKey } = event
  return { statement: INSERT, values: [at, kind, actor, via, target, keyId, requestId, ip, detail, salt, mac, macKey] }
}

/** One page of the events before a place, newest first. */
export async function listEvents(db: Reads, filter: EventFilter, before: EventPlace, limit: number): Promise<StoredEvent[]> {
  const { kind = null, actor = null, target = null, since = 0 } = filter
  const statement = LISTS[target !== null ? 'target' : actor !== null ? 'actor' : kind !== null ? 'kind' : 'time']
  return (await db.all(statement, before.at, before.id, since, kind, actor, target, limit)).map(toStoredEvent)
}

/** One page of all events, oldest first. */
export async function listEventsAfter(db: Reads, id: number, limit: number): Promise<StoredEvent[]> {
  return (await db.all(LIST_AFTER, id, limit)).map(toStoredEvent)
}

/** One page of all events with their salts, oldest first. */
export async function listWrittenEvents(db: Reads, id: number, limit: number): Promise<(StoredEvent & { readonly salt: string | null })[]> {
  return (await db.all(LIST_WRITTEN, id, limit)).map((row) => ({ ...toStoredEvent(row), salt: row.salt }))
}

/** Replaces the HMAC of an event. */
export async function signEvent(tx: Transaction, id: number, { mac, macKey }: Seal): Promise<void> {
  await tx.run(SIGN, id, mac, macKey)
}

/** Erases address and details of sealed events that a user caused or that concern them. Returns of how many. */
export function eraseEvents(tx: Transaction, userId: number, limit: number): Promise<number> {
  return tx.run(ERASE, userId, limit)
}

export function toStoredEvent(row: EventRow): StoredEvent {
  const { id, at, kind, actor, via, target, key_id, request_id, ip, detail } = row
  return { id, at, kind, actor, via, target, keyId: key_id, requestId: request_id, ip, detail }
}

export function toWrittenEvent(row: WrittenRow): WrittenEvent {
  return { ...toStoredEvent(row), salt: row.salt, mac: row.mac, macKey: row.mac_key }
}
