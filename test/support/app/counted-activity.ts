import type { ActivityLog } from '../../../src/domain/operations/activity.ts'
import type { Counters, RouteCounters } from '../../../src/metrics/counters.ts'

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
