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

export type ActivityPeriod = Activity & { readonly startsAt: number }
