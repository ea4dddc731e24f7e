export type TestClock = {
  now(): number
  /** Moves time forward without waiting. */
  advance(by: { days?: number; hours?: number; minutes?: number; seconds?: number; ms?: number }): void
}

/** A clock that only the test moves. It starts at the real time, so that libraries with their own clock agree with it, or earlier. */
export function createClock(startsAt: number = Date.now()): TestClock {
  let now = startsAt
  return {
    now: () => now,
    advance({ days = 0, hours = 0, minutes = 0, seconds = 0, ms = 0 }) {
      now += (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms
    },
  }
}
