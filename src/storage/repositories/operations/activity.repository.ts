import type { Activity, ActivityPeriod } from '../../../model/activity.ts'
import { type Queries, type Reads, statement } from '../../database.ts'

export const MINUTE_MS = 60_000
/** The length of a period that is read. */
export const QUARTER_MS = 15 * MINUTE_MS

/** How the values of several processes, or of several minutes, become one. */
const COLUMNS = {
  requests: 'sum',
  refused: 'sum',
  failed: 'sum',
  duration_us: 'sum',
  slowest_us: 'max',
  logins: 'sum',
  failed_logins: 'sum',
  longest_queue: 'max',
} as const

type ActivityRow = { readonly quarter: number } & Readonly<Record<keyof typeof COLUMNS, number>>

const NAMES = Object.keys(COLUMNS)
const merged = Object.entries(COLUMNS).map(([name, merge]) =>
  merge === 'sum'
    ? `${name} = activity.${name} + excluded.${name}`
    : `${name} = case when excluded.${name} > activity.${name} then excluded.${name} else activity.${name} end`,
)
const ADD = statement(`
  insert into activity (minute, ${NAMES.join(', ')}) values ($1, ${NAMES.map((_, index) => `$${index + 2}`).join(', ')})
  on conflict (minute) do update set ${merged.join(', ')}`)
const READ = statement<ActivityRow>(`
  select minute / 15 as quarter, ${Object.entries(COLUMNS).map(([name, merge]) => `cast(${merge}(${name}) as bigint) as ${name}`)}
  from activity where minute >= $1 group by minute / 15`)
const DELETE_OLD = statement('delete from activity where minute < $1')

/** Adds what one process has counted in a minute to what the others have. */
export async function addActivity(db: Queries, startsAt: number, activity: Activity): Promise<void> {
  const { requests, refused, failed, durationUs, slowestUs, logins, failedLogins, longestQueue } = activity
  const times = [durationUs, slowestUs].map(Math.round) as [number, number]
  await db.run(ADD, startsAt / MINUTE_MS, requests, refused, failed, ...times, logins, failedLogins, longestQueue)
}

/** The activity since a time, in quarters of an hour. Quarters without any are left out. */
export async function readActivity(db: Reads, since: number): Promise<ActivityPeriod[]> {
  const rows = await db.all(READ, Math.floor(since / MINUTE_MS))
  return rows.map((row) => ({
    startsAt: row.quarter * QUARTER_MS,
    requests: row.requests,
    refused: row.refused,
    failed: row.failed,
    durationUs: row.duration_us,
    slowestUs: row.slowest_us,
    logins: row.logins,
    failedLogins: row.failed_logins,
    longestQueue: row.longest_queue,
  }))
}

export async function deleteActivityBefore(db: Queries, before: number): Promise<void> {
  await db.run(DELETE_OLD, Math.floor(before / MINUTE_MS))
}
