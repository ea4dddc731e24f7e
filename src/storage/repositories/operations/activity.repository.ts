import { ACTIVITY_MERGES, ACTIVITY_NAMES, type Activity, type ActivityPeriod } from '../../../model/activity.ts'
import { snakeCase } from '../../../model/entity.ts'
import { type Queries, type Reads, statement } from '../../database.ts'

export const MINUTE_MS = 60_000
/** The length of a period that is read. */
export const QUARTER_MS = 15 * MINUTE_MS

const VALUES = ACTIVITY_NAMES.map((name) => ({ name, column: snakeCase(name), merge: ACTIVITY_MERGES[name] }))
const COLUMNS = VALUES.map(({ column }) => column)
const updates = VALUES.map(({ column, merge }) =>
  merge === 'sum'
    ? `${column} = activity.${column} + excluded.${column}`
    : `${column} = case when excluded.${column} > activity.${column} then excluded.${column} else activity.${column} end`,
)
const ADD = statement(`
  insert into activity (minute, ${COLUMNS.join(', ')}) values ($1, ${COLUMNS.map((_, index) => `$${index + 2}`).join(', ')})
  on conflict (minute) do update set ${updates.join(', ')}`)
const READ = statement<Activity & { readonly quarter: number }>(`
  select minute / 15 as quarter, ${VALUES.map(({ name, column, merge }) => `cast(${merge}(${column}) as bigint) as "${name}"`).join(', ')}
  from activity where minute >= $1 group by minute / 15`)
const DELETE_OLD = statement('delete from activity where minute < $1')

/** Adds what one process has counted in a minute to what the others have. */
export async function addActivity(db: Queries, startsAt: number, activity: Activity): Promise<void> {
  // Durations have fractions of a microsecond.
  const values = ACTIVITY_NAMES.map((name) => Math.round(activity[name]))
  await db.run(ADD, startsAt / MINUTE_MS, ...values)
}

/** The activity since a time, in quarters of an hour. Quarters without any are left out. */
export async function readActivity(db: Reads, since: number): Promise<ActivityPeriod[]> {
  const rows = await db.all(READ, Math.floor(since / MINUTE_MS))
  return rows.map(({ quarter, ...activity }) => ({ ...activity, startsAt: quarter * QUARTER_MS }))
}

export async function deleteActivityBefore(db: Queries, before: number): Promise<void> {
  await db.run(DELETE_OLD, Math.floor(before / MINUTE_MS))
}
