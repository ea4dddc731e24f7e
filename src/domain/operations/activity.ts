import { ACTIVITY_MERGES, ACTIVITY_NAMES, type Activity, type ActivityPeriod } from '../../model/activity.ts'
import type { Database } from '../../storage/database.ts'
import { addActivity, MINUTE_MS, QUARTER_MS, readActivity } from '../../storage/repositories/operations/operations.repository.ts'

/** What the process has counted since its start. */
type ActivityTotals = Omit<Activity, 'slowestUs' | 'longestQueue'>

/** The counters of the process. The metrics read them too. */
export type ActivityCounts = {
  totals(): ActivityTotals
  /** The slowest request since the last call. */
  takeSlowestUs(): number
  /** Sets what is called before each count. */
  beforeCount(call: () => void): void
}

export type ActivityLog = ReturnType<typeof createActivityLog>

type ActivityParts = {
  readonly db: Database
  readonly now: () => number
  /** Undefined where nobody sees the status page: then nothing is written. */
  readonly counts: ActivityCounts | undefined
  /** The longest queue of passwords since the last call. */
  readonly takeLongestQueue: () => number
}

type Counts = { -readonly [Name in keyof Activity]: Activity[Name] }

const NO_TOTALS: ActivityTotals = { requests: 0, refused: 0, failed: 0, durationUs: 0, logins: 0, failedLogins: 0 }
const NO_ACTIVITY: Activity = { ...NO_TOTALS, slowestUs: 0, longestQueue: 0 }
// The names of this object.
const TOTAL_NAMES = Object.keys(NO_TOTALS) as readonly (keyof ActivityTotals)[]

export const ACTIVITY_KEPT_MS = 24 * 60 * MINUTE_MS
const QUARTERS = ACTIVITY_KEPT_MS / QUARTER_MS

/**
 * Writes what the process counts, minute by minute, and reads what all processes did. Each process adds its counts to one row for each minute, outside of any request, so that the database has the sum of all workers and
 * machines, also after a restart. An idle process writes nothing.
 */
export function createActivityLog({ db, now, counts, takeLongestQueue }: ActivityParts) {
  /** By the start of the minute. Usually one, more during an outage of the database. */
  const pending = new Map<number, Counts>()
  let timer: NodeJS.Timeout | undefined
  let lastFlush = Promise.resolve()

  /** The minute that counts belong to, and the totals at its start or at the last write. */
  let minute = minuteOf(now())
  let collected: ActivityTotals = NO_TOTALS

  function collect(): void {
    const totals = counts?.totals() ?? collected
    if (TOTAL_NAMES.every((name) => totals[name] === collected[name])) return
    const counted = { ...totals, slowestUs: counts?.takeSlowestUs() ?? 0, longestQueue: takeLongestQueue() }
    for (const name of TOTAL_NAMES) counted[name] -= collected[name]
    collected = totals
    pending.set(minute, sumOf([counted, pending.get(minute) ?? NO_ACTIVITY]))
  }

  function closeMinute(): void {
    const current = minuteOf(now())
    if (current === minute) return
    collect()
    minute = current
  }
  counts?.beforeCount(closeMinute)

  /** Writes what was counted since the last time. What could not be written is tried again with the next minute. */
  async function flush(): Promise<void> {
    collect()
    closeMinute()
    for (const [startsAt, counts] of [...pending]) {
      pending.delete(startsAt)
      // A row that nobody would see any more.
      if (startsAt >= now() - ACTIVITY_KEPT_MS) await write(startsAt, counts)
    }
  }

  /**
   * Adds the counts once or, if the answer to the commit is lost, perhaps not at all: a chart with a minute that is missing misleads less
   * than one with a minute that counts twice. An error before the commit means that nothing was written.
   */
  async function write(startsAt: number, counts: Counts): Promise<void> {
    let isCommitSent = false
    try {
      await db.transaction((tx) => addActivity(tx, startsAt, counts), {
        onCommitSent() {
          isCommitSent = true
        },
      })
    } catch (error) {
      if (!isCommitSent) pending.set(startsAt, sumOf([counts, pending.get(startsAt) ?? NO_ACTIVITY]))
      throw error
    }
  }

  return {
    /** The last 24 hours of all processes in quarters of an hour, the current one last. At most a minute behind. */
    async lastDay(): Promise<readonly ActivityPeriod[]> {
      const last = Math.floor(now() / QUARTER_MS)
      const first = (last - QUARTERS + 1) * QUARTER_MS
      const known = new Map((await readActivity(db.lists, first)).map((period) => [period.startsAt, period]))
      return Array.from({ length: QUARTERS }, (_, place) => {
        const startsAt = first + place * QUARTER_MS
        return known.get(startsAt) ?? { ...NO_ACTIVITY, startsAt }
      })
    },
    flush,
    start(): void {
      // Requests that need the database report an outage.
      timer = setInterval(() => {
        lastFlush = flush().catch(() => undefined)
      }, MINUTE_MS).unref()
    },
    async stop(): Promise<void> {
      clearInterval(timer)
      await lastFlush
      await flush().catch(() => undefined)
    },
  }
}

function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS
}

/** The activity of several periods, or of several processes. */
export function sumOf(activities: readonly Activity[]): Counts {
  const sum = { ...NO_ACTIVITY }
  for (const activity of activities) {
    for (const name of ACTIVITY_NAMES) {
      const [one, other] = [sum[name], activity[name]]
      sum[name] = ACTIVITY_MERGES[name] === 'sum' ? one + other : Math.max(one, other)
    }
  }
  return sum
}
