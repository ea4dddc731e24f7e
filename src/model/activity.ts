/** What requests and logins did in a period, over all processes. */
export type Activity = {
  readonly requests: number
  /** Responses with a 4xx status. */
  readonly refused: number
  /** Responses with a 5xx status. */
  readonly failed: number
  /** The time that all requests took together. */
  readonly durationUs: number
  readonly slowestUs: number
  readonly logins: number
  readonly failedLogins: number
  /** The most passwords that waited to be hashed at once, in one process. */
  readonly longestQueue: number
}

/** How the values of several processes, or of several minutes, become one: they are added up, or the largest one counts. */
export const ACTIVITY_MERGES: Readonly<Record<keyof Activity, 'sum' | 'max'>> = {
  requests: 'sum',
  refused: 'sum',
  failed: 'sum',
  durationUs: 'sum',
  slowestUs: 'max',
  logins: 'sum',
  failedLogins: 'sum',
  longestQueue: 'max',
}

export const ACTIVITY_NAMES = Object.keys(ACTIVITY_MERGES) as readonly (keyof Activity)[]

export type ActivityPeriod = Activity & { readonly startsAt: number }
