/**
 * What requests and logins did in a period, over all processes, and how the values of several processes or minutes become one: they are
 * added up, or the largest one counts.
 */
export const ACTIVITY_MERGES = {
  requests: 'sum',
  // Responses with a 4xx status.
  refused: 'sum',
  // Responses with a 5xx status.
  failed: 'sum',
  // The time that all requests took together.
  durationUs: 'sum',
  slowestUs: 'max',
  logins: 'sum',
  failedLogins: 'sum',
  // The most passwords that waited to be hashed at once, in one process.
  longestQueue: 'max',
} as const satisfies Readonly<Record<string, 'sum' | 'max'>>

export type Activity = Readonly<Record<keyof typeof ACTIVITY_MERGES, number>>

export const ACTIVITY_NAMES = Object.keys(ACTIVITY_MERGES) as readonly (keyof Activity)[]

export type ActivityPeriod = Activity & { readonly startsAt: number }
