/** Limits that were exceeded a moment ago. Times are microseconds. */
export type RefusalMemory = {
  /** When the limit is fully available again, if it was exceeded a moment ago and still is. */
  read(key: string, at: number): number | undefined
  write(key: string, freeAt: number, until: number): void
}

const SECOND = 1_000_000
const MAX_REMEMBERED = 10_000

/**
 * Remembers limits that were exceeded for up to a second, so that a flood of refused requests does not reach the database. Not for longer:
 * a place may be given back, by any process.
 */
export function createRefusalMemory(): RefusalMemory {
  const refusals = new Map<string, { readonly freeAt: number; readonly until: number }>()
  return {
    read(key, at) {
      const refusal = refusals.get(key)
      return refusal !== undefined && at < refusal.until && at >= refusal.until - SECOND ? refusal.freeAt : undefined
    },
    write(key, freeAt, until) {
      if (refusals.size >= MAX_REMEMBERED) refusals.clear()
      refusals.set(key, { freeAt, until })
    },
  }
}
