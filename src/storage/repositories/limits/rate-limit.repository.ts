import { type Queries, type Reads, statement } from '../../database.ts'
import { deleteListed } from '../../tables.ts'

/** One request against a limit. All times are microseconds since 1970, so that a limit of many requests a second loses no precision. */
export type Arrival = {
  readonly key: string
  readonly now: number
  /** The time that one request costs. */
  readonly interval: number
  /** A request passes if the limit is fully available again by then. */
  readonly latest: number
  /** No arrival before now can have moved the limit beyond this time: the clock was set back since. */
  readonly implausible: number
}

type LimitRow = { readonly free_at: number }

// GCRA in one statement: of any number of requests at once, in any number of processes, exactly as many pass as the limit allows.
const TAKE = statement<LimitRow>(`
  insert into rate_limits (key, free_at) values ($1, $2)
  on conflict (key) do update set
    free_at = case when rate_limits.free_at > $3 and rate_limits.free_at <= $5 then rate_limits.free_at + $6 else $2 end
  where rate_limits.free_at <= $4 or rate_limits.free_at > $5
  returning free_at`)
const READ = statement<LimitRow>('select free_at from rate_limits where key = $1')
const GIVE_BACK = statement('update rate_limits set free_at = free_at - $2 where key = $1')
const KEEP_UNTIL = statement(`
  insert into rate_limits (key, free_at) values ($1, $2) on conflict (key) do update set free_at = $2`)
const DELETE_FREE = deleteListed('rate_limits', 'key', 'select key from rate_limits where free_at <= $1 order by free_at limit $2')

/** When the limit is fully available again, if the request passes. One that does not changes nothing. */
export async function takePlace(db: Queries, { key, now, interval, latest, implausible }: Arrival): Promise<number | undefined> {
  return (await db.first(TAKE, key, now + interval, now, latest, implausible, interval))?.free_at
}

/** When the limit is fully available again; undefined if nothing is counted. */
export async function readFreeAt(db: Reads, key: string): Promise<number | undefined> {
  return (await db.first(READ, key))?.free_at
}

/** Undoes the cost of one request that has passed, or what is left of it. */
export async function giveBack(db: Queries, key: string, cost: number): Promise<void> {
  await db.run(GIVE_BACK, key, cost)
}

/** Keeps a mark, which counts nothing, until a time. */
export async function keepUntil(db: Queries, key: string, until: number): Promise<void> {
  await db.run(KEEP_UNTIL, key, until)
}

/** Deletes at most `limit` rows that say nothing any more. Returns how many it deleted. */
export async function deleteFreeLimits(db: Queries, now: number, limit: number): Promise<number> {
  return db.run(DELETE_FREE, now, limit)
}
