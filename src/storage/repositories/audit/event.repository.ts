import { type EventFilter, type EventPlace, type Seal, WRITTEN_EVENT, type WrittenEvent } from '../../../model/audit.ts'
import { entity, type ValuesOf, without } from '../../../model/entity.ts'
import { EVENT, type StoredEvent } from '../../../model/event.ts'
import { type FinalStatement, insertInto, longRead, type Reads, type Statement, statement, type Transaction } from '../../database.ts'
import { countsChanges, listsIn } from '../../repository-functions.ts'

// The database assigns the id.
const NEW_EVENT = without(WRITTEN_EVENT, 'id')
const INSERT = statement(insertInto(NEW_EVENT))
// The first condition decides which index is read: the one that leaves the fewest events.
const LISTS = {
  target: list('target = $6'),
  actor: list('actor = $5'),
  kind: list('kind = $4'),
  time: list('true'),
}
const SALTED_EVENT = entity('events', { ...EVENT.fields, salt: WRITTEN_EVENT.fields.salt })
const SIGN = statement('update events set mac = $2, mac_key = $3 where id = $1')

function list(first: string): Statement<StoredEvent> {
  // SQLite infers no type for a value that is only compared with null.
  return longRead(
    `select ${EVENT.columns} from events
    where ${first} and (at, id) < (cast($1 as bigint), cast($2 as bigint)) and at >= cast($3 as bigint)
      and (cast($4 as text) is null or kind = $4)
      and (cast($5 as bigint) is null or actor = cast($5 as bigint))
      and (cast($6 as bigint) is null or target = cast($6 as bigint))
    order by at desc, id desc limit cast($7 as bigint)`,
    EVENT.fromRow,
  )
}

/** The statement that stores an event. It runs at the end of the transaction of the change. */
export function insertEvent(event: Omit<WrittenEvent, 'id'>): FinalStatement {
  return { statement: INSERT, values: NEW_EVENT.toValues(event) }
}

/** One page of the events before a place, newest first. */
export function listEvents(db: Reads, filter: EventFilter, before: EventPlace, limit: number): Promise<StoredEvent[]> {
  const { kind = null, actor = null, target = null, since = 0 } = filter
  const statement = LISTS[target !== null ? 'target' : actor !== null ? 'actor' : kind !== null ? 'kind' : 'time']
  return db.all(statement, before.at, before.id, since, kind, actor, target, limit)
}

/** One page of all events, oldest first. */
export const listEventsAfter = listsIn<StoredEvent, [id: number, limit: number]>(EVENT, 'where id > $1 order by id limit $2')

/** One page of all events with their salts, oldest first. */
export const listWrittenEvents = listsIn<ValuesOf<typeof SALTED_EVENT.fields>, [id: number, limit: number]>(
  SALTED_EVENT,
  'where id > $1 order by id limit $2',
)

/** Replaces the HMAC of an event. */
export async function signEvent(tx: Transaction, id: number, { mac, macKey }: Seal): Promise<void> {
  await tx.run(SIGN, id, mac, macKey)
}

/** Erases address and details of sealed events that a user caused or that concern them. Returns of how many. */
export const eraseEvents = countsChanges<Transaction, [userId: number, limit: number]>(`
  update events set ip = null, detail = null, salt = null
  where id in (
    select event_id from event_seals join events on events.id = event_id
    where salt is not null and kind <> 'data.erased' and (target = $1 or actor = $1) limit $2)`)
