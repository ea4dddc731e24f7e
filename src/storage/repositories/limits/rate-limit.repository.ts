import { type Queries, statement } from '../../database.ts'
import { finds, runs } from '../../repository-functions.ts'

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

// GCRA in one statement: of any number of requests at once, in any number of processes, exactly as many pass as the limit allows.
const TAKE = statement<{ readonly free_at: number }>(`
  insert into rate_limits (key, free_at) values ($1, $2)
  on conflict (key) do update set
    free_at = case when rate_limits.free_at > $3 and rate_limits.free_at <= $5 then rate_limits.free_at + $6 else $2 end
  where rate_limits.free_at <= $4 or rate_limits.free_at > $5
  returning free_at`)

/** When the limit is fully available again, if the request passes. One that does not changes nothing. */
export async function takePlace(db: Queries, { key, now, interval, latest, implausible }: Arrival): Promise<number | undefined> {
  return (await db.first(TAKE, key, now + interval, now, latest, implausible, interval))?.free_at
}

/** When the limit is fully available again; undefined if nothing is counted. */
export const readFreeAt = finds<number, [key: string]>('select free_at from rate_limits where key = $1', (row) => Number(row['free_at']))

/** Undoes the cost of one request that has passed, or what is left of it. */
export const giveBack = runs<Queries, [key: string, cost: number]>('update rate_limits set free_at = free_at - $2 where key = $1')

/** Keeps a mark, which counts nothing, until a time. */
export const keepUntil = runs<Queries, [key: string, until: number]>(
  'insert into rate_limits (key, free_at) values ($1, $2) on conflict (key) do update set free_at = $2',
)
