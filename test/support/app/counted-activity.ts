import { type ActivityLog, createActivityLog } from '../../../src/domain/operations/activity.ts'
import { type Counters, createCounters, type RouteCounters } from '../../../src/metrics/counters.ts'
import type { Database } from '../../../src/storage/database.ts'

type Parts = {
  readonly db: Database
  readonly now: () => number
  readonly takeLongestQueue: () => number
  readonly apiTitle?: string
  /** Whether the counts are written. Without the console they are not. */
  readonly isWritten?: boolean
}

export type CountedActivity = ReturnType<typeof countedActivity>

/** The activity log with the counters of a process, and functions that count without a request. */
export function createCountedActivity({ apiTitle = 'Latchkey', isWritten = true, ...parts }: Parts) {
  const counters = createCounters(apiTitle)
  return countedActivity(createActivityLog({ ...parts, counts: isWritten ? counters.activity : undefined }), counters)
}

/** An activity log, and functions that count without a request. */
export function countedActivity(log: ActivityLog, counters: Counters) {
  let route: RouteCounters | undefined
  return {
    ...log,
    counters,
    countRequest(status: number, durationMs: number): void {
      route ??= counters.ofRoute('test')
      route.begin()
      route.end({ method: 'GET', status, durationMs, requestBytes: 0, responseBytes: 0 })
    },
    countLogin: (isSuccessful: boolean) => counters.observer.loginAttempt(isSuccessful ? 'success' : 'invalid_password'),
  }
}
