import { BUSY_KEY, type BusyKey, type DailyUse, KEY_USAGE, type KeyUsage } from '../../../model/usage.ts'
import { longRead, type Queries, type Reads, type SqlTexts, statement, type Transaction } from '../../database.ts'
import { countsChanges } from '../../repository-functions.ts'
import { around, givenRows } from '../../tables.ts'

const COLUMNS = KEY_USAGE.columnNames.join(', ')

/** Counts for accounts that were deleted meanwhile are dropped. PostgreSQL looks up each of them, whatever it expects of the batch. */
function addingTo(given: string): string {
  return `insert into key_usage (${COLUMNS}) select ${COLUMNS} from (${given}) as given
    where (select true from users where users.id = given.user_id) order by day, user_id, key_seq
    on conflict (day, user_id, key_seq) do update set
      allowed = key_usage.allowed + excluded.allowed, limited = key_usage.limited + excluded.limited`
}

const ADD = statement(around(givenRows('key_usage'), addingTo))

/** Adds counts to those of the same keys and days. In the order of the primary key, so that two processes cannot block each other. */
export async function addUsage(tx: Transaction, rows: readonly KeyUsage[]): Promise<void> {
  await tx.run(ADD, JSON.stringify(rows.map(KEY_USAGE.toRow)))
}

/** Each day is one look-up in the primary key, whatever the planner knows about the table. */
function perDay(which: string): SqlTexts {
  const sum = (column: string) =>
    `cast(coalesce((select sum(${column}) from key_usage where day = days.day and ${which}), 0) as bigint) as ${column}`
  return around(
    { postgres: '$1::integer', sqlite: '$1' },
    // It begins with "select", as a read does.
    (first) => `select * from (
      with recursive days (day) as (select ${first} union all select day + 1 from days where day < $2)
      select day, ${sum('allowed')}, ${sum('limited')} from days) as use order by day`,
  )
}

// At most 400 look-ups: SQLite answers that without its other thread.
const OF_KEY = statement<DailyUse>(perDay('user_id = $3 and key_seq = $4'))
// An account may have a thousand keys.
const OF_USER = longRead<DailyUse>(perDay('user_id = $3'))

type Days = { readonly from: number; readonly to: number }

/** The use of a key, one row for each day. */
export function listUsageOfKey(db: Reads, { from, to }: Days, userId: number, keySeq: number): Promise<DailyUse[]> {
  return db.all(OF_KEY, from, to, userId, keySeq)
}

/** The use of all keys of an account, also of those that were deleted since. */
export function listUsageOfUser(db: Reads, { from, to }: Days, userId: number): Promise<DailyUse[]> {
  return db.all(OF_USER, from, to, userId)
}

const BUSIEST = longRead(
  `select ${BUSY_KEY.columns} from (
    select key_seq, sum(allowed) as allowed, sum(limited) as limited from key_usage where day >= $1
    group by key_seq order by sum(allowed) + sum(limited) desc, key_seq limit $2) as used
  join api_keys on api_keys.seq = used.key_seq join users on users.id = api_keys.user_id
  order by used.allowed + used.limited desc, used.key_seq`,
  BUSY_KEY.fromRow,
)

/** The keys that were used most since a day. */
export function listBusiestKeys(db: Reads, since: number, limit: number): Promise<BusyKey[]> {
  return db.all(BUSIEST, since, limit)
}

/** Deletes at most `limit` rows of the days before one. Returns how many it deleted. */
export const deleteUsageBefore = countsChanges<Queries, [day: number, limit: number]>({
  postgres: `delete from key_usage where ctid = any (array(select ctid from key_usage where day < $1 order by day limit $2))`,
  sqlite: `delete from key_usage where (day, user_id, key_seq) in (
    select day, user_id, key_seq from key_usage where day < $1 order by day, user_id, key_seq limit $2)`,
})

/** Deletes the use of an account on these days, a JSON list. Returns how many rows it deleted. */
export const deleteUsageOfUser = countsChanges<Transaction, [userId: number, days: string, limit: number]>({
  postgres: `delete from key_usage where ctid = any (array(
    select ctid from key_usage where day = any (array(select json_array_elements_text($2::text::json)::integer)) and user_id = $1 limit $3))`,
  sqlite: `delete from key_usage where (day, user_id, key_seq) in (
    select day, user_id, key_seq from key_usage where day in (select value from json_each($2)) and user_id = $1 limit $3)`,
})
