import { LIMIT_WINDOW, type LimitWindow, WINDOW_STATE, type WindowState } from '../../../model/usage.ts'
import { type Queries, statement } from '../../database.ts'
import { countsChanges, findsIn } from '../../repository-functions.ts'
import { around, givenRows } from '../../tables.ts'

const COLUMNS = LIMIT_WINDOW.columnNames.join(', ')

/** A limit of an account or a key. */
type WindowKey = Pick<LimitWindow, 'subject' | 'periodMs'>

export type Claim = WindowKey & {
  readonly amount: number
  readonly limit: number
  readonly now: number
  /** A window that ends after this was begun by a clock that was wrong. */
  readonly latestEnd: number
}

// A window begins with its first request, in whichever process. Of any number of claims at once, no more succeed than the limit allows.
const CLAIM = statement(
  `insert into limit_windows (subject, period_ms, ends_at, used) values ($1, $2, $3, $4)
  on conflict (subject, period_ms) do update set
    used = case when limit_windows.ends_at > $5 and limit_windows.ends_at <= $6 then limit_windows.used + $4 else $4 end,
    ends_at = case when limit_windows.ends_at > $5 and limit_windows.ends_at <= $6 then limit_windows.ends_at else $3 end
  where limit_windows.used + $4 <= $7 or limit_windows.ends_at <= $5 or limit_windows.ends_at > $6
  returning ${WINDOW_STATE.columns}`,
  WINDOW_STATE.fromRow,
)

/** Takes an amount from a limit, or nothing. Returns the window after that; undefined if too little is left. */
export function claim(db: Queries, { subject, periodMs, amount, limit, now, latestEnd }: Claim): Promise<WindowState | undefined> {
  return db.first(CLAIM, subject, periodMs, now + periodMs, amount, now, latestEnd, limit)
}

export const findWindow = findsIn<WindowState, [subject: string, periodMs: number]>(WINDOW_STATE, 'where subject = $1 and period_ms = $2')

// Each window is one look-up, in the order of the primary key, so that two processes cannot block each other. Nothing is inserted.
const GIVE_BACK = statement(
  around(
    givenRows('limit_windows'),
    (given) => `insert into limit_windows (${COLUMNS}) select ${COLUMNS} from (${given}) as given
      where (select true from limit_windows as known where known.subject = given.subject and known.period_ms = given.period_ms)
      order by subject, period_ms
      on conflict (subject, period_ms) do update set used = limit_windows.used - excluded.used
      where limit_windows.ends_at = excluded.ends_at and limit_windows.used >= excluded.used
      returning ${LIMIT_WINDOW.columns}`,
  ),
  LIMIT_WINDOW.fromRow,
)

/** Returns what was taken and not used, which is `used` here, except to windows that are others by now. Returns the windows after that. */
export function giveBack(db: Queries, unused: readonly LimitWindow[]): Promise<LimitWindow[]> {
  return db.all(GIVE_BACK, JSON.stringify(unused.map(LIMIT_WINDOW.toRow)))
}

/** Deletes at most `limit` windows that have ended. Returns how many it deleted. */
export const deleteEndedWindows = countsChanges<Queries, [now: number, limit: number]>({
  postgres: `delete from limit_windows where ctid = any (array(
    select ctid from limit_windows where ends_at <= $1 order by ends_at limit $2))`,
  sqlite: `delete from limit_windows where (subject, period_ms) in (
    select subject, period_ms from limit_windows where ends_at <= $1 order by ends_at limit $2)`,
})
