import { ACTIVITY_MERGES, ACTIVITY_NAMES, type Activity, type ActivityPeriod } from '../../../model/activity.ts'
import { snakeCase } from '../../../model/entity.ts'
import { type Queries, type Reads, statement, type Transaction } from '../../database.ts'
import { exists, finds, runs } from '../../repository-functions.ts'

const READ_INSTANCE = statement<{ id: string }>('select id from instance')

/** The random id of this database: the same in every process that uses it, different in every other database. */
export async function readInstanceId(db: Reads): Promise<string> {
  const row = await db.first(READ_INSTANCE)
  if (row === undefined) throw new Error('the table instance is empty; restore a backup of the database')
  return row.id
}

/**
 * Throws `unavailable` if the database does not respond or rejects writes. It is a write that matches no row, because a database that is
 * read-only, or locked by another process, cannot serve requests.
 */
export const ping = runs<Queries, []>("delete from sessions where id = ''")

const ADD_USE = statement(
  'insert into secret_uses (fingerprint, first_used_at, last_used_at) values ($1, $2, $2) on conflict (fingerprint) do nothing',
)
const EXTEND_USE = statement('update secret_uses set last_used_at = $2 where fingerprint = $1 and last_used_at < $2')
const HOLD = statement(`
  insert into secret_holders (process_id, fingerprint, signs, seen_at) values ($1, $2, $3, $4)
  on conflict (process_id, fingerprint) do update set seen_at = excluded.seen_at`)

/** Records that a secret signs at this moment. Returns true if it never did before. */
export async function recordSecretUse(tx: Transaction, fingerprint: string, now: number): Promise<boolean> {
  const isNew = (await tx.run(ADD_USE, fingerprint, now)) === 1
  if (!isNew) await tx.run(EXTEND_USE, fingerprint, now)
  return isNew
}

/** Whether any other secret has ever signed in this database. */
export const hasOtherSecret = exists<Reads, [fingerprint: string]>('select fingerprint from secret_uses where fingerprint <> $1 limit 1')

export const findLastSecretUse = finds<number, [fingerprint: string]>(
  'select last_used_at from secret_uses where fingerprint = $1',
  (row) => Number(row['last_used_at']),
)

/** Records which secrets a running process has: the first one signs. */
export async function holdSecrets(tx: Transaction, processId: string, fingerprints: readonly string[], now: number): Promise<void> {
  for (const [index, fingerprint] of fingerprints.entries()) await tx.run(HOLD, processId, fingerprint, index === 0, now)
}

export const releaseSecrets = runs<Transaction, [processId: string]>('delete from secret_holders where process_id = $1')

/** Removes the rows of processes that were killed. */
export const forgetHoldersBefore = runs<Transaction, [seenAt: number]>('delete from secret_holders where seen_at < $1')

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
