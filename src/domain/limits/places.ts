import { TooManyRequests } from '../../model/refusal.ts'
import type { Database } from '../../storage/database.ts'
import { giveBack, readFreeAt, takePlace } from '../../storage/repositories/limits/rate-limit.repository.ts'
import type { Observer } from '../operations/observer.ts'
import type { LimitName, RateLimit } from '../values/rate-limits.ts'

/** What a request has counted. Only the request that has it can give it back, and only once. */
export type Place = { giveBack(): Promise<void> }

/** One limit that a request counts for. Times are microseconds. */
export type Counter = {
  readonly name: LimitName
  readonly key: string
  /** What one request costs. */
  readonly interval: number
  /** How much may be outstanding when another request passes. */
  readonly tolerance: number
}

type Outcome = {
  readonly counter: Counter
  /** When the limit is fully available again. */
  readonly freeAt: number
  /** Zero if the request has passed. */
  readonly waitSeconds: number
}

export type PlacesParts = {
  readonly db: Database
  readonly observer: Pick<Observer, 'limited'>
  readonly now: () => number
}

const MICROSECONDS = 1000
const SECOND = 1_000_000
// Clocks of several machines differ a little. A limit that is further in the future than this was counted by a clock that was wrong.
const MAX_CLOCK_DIFFERENCE = 60 * SECOND

export function counterOf(name: LimitName, key: string, { count, periodMs }: RateLimit): Counter {
  const interval = Math.ceil((periodMs * MICROSECONDS) / count)
  return { name, key, interval, tolerance: interval * (count - 1) }
}

/**
 * Returns the function that takes a place in each of several limits, or in none. A refusal says when the last of the exceeded limits lets
 * a request pass.
 */
export function createPlaces({ db, observer, now }: PlacesParts): (counters: readonly Counter[]) => Promise<Place> {
  const refusals = createRefusalMemory()

  function readRefusal(counter: Counter): Outcome[] {
    const at = now() * MICROSECONDS
    const freeAt = refusals.read(counter.key, at)
    return freeAt === undefined ? [] : [refusedOutcome(counter, freeAt, at)]
  }

  async function take(counter: Counter): Promise<Outcome> {
    const at = now() * MICROSECONDS
    const { key, interval, tolerance } = counter
    const latest = at + tolerance
    const implausible = latest + interval + MAX_CLOCK_DIFFERENCE
    const taken = await takePlace(db, { key, now: at, interval, latest, implausible })
    if (taken !== undefined) return { counter, freeAt: taken, waitSeconds: 0 }
    const freeAt = (await readFreeAt(db, key)) ?? latest
    // While this request waited for the database, later ones may have taken its place. Try again with the current time.
    const later = now() * MICROSECONDS
    if (later > at && freeAt <= later + tolerance) return take(counter)
    refusals.write(key, freeAt, Math.min(at + SECOND, freeAt - tolerance))
    return refusedOutcome(counter, freeAt, at)
  }

  function placeOf(taken: readonly Outcome[]): Place {
    let isHeld = true
    async function giveBackOne({ counter: { key, interval }, freeAt }: Outcome): Promise<void> {
      // A place becomes free by itself with time. What has become free already cannot be given back as well: others may have taken it.
      const unused = Math.min(interval, freeAt - now() * MICROSECONDS)
      if (unused > 0) await giveBack(db, key, unused)
    }
    return {
      async giveBack() {
        if (!isHeld) return
        isHeld = false
        // The response is decided by now. A count that stays does little harm, and requests that need the database report an outage.
        await Promise.allSettled(taken.map(giveBackOne))
      },
    }
  }

  return async (counters) => {
    const remembered = counters.flatMap(readRefusal)
    // A limit that is known to be exceeded refuses without a statement, so that a flood at one limit does not fill the others.
    const settled = await Promise.allSettled(remembered.length > 0 ? remembered : counters.map(take))
    const outcomes = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const place = placeOf(outcomes.filter(({ waitSeconds }) => waitSeconds === 0))
    const outage = settled.find((one) => one.status === 'rejected')
    const [longest] = outcomes.filter(({ waitSeconds }) => waitSeconds > 0).sort((a, b) => b.waitSeconds - a.waitSeconds)
    if (outage === undefined && longest === undefined) return place
    await place.giveBack()
    if (longest === undefined) throw outage?.reason
    observer.limited(longest.counter.name)
    throw new TooManyRequests(longest.waitSeconds, longest.counter.name)
  }
}

function refusedOutcome(counter: Counter, freeAt: number, at: number): Outcome {
  return { counter, freeAt, waitSeconds: Math.max(1, Math.ceil((freeAt - counter.tolerance - at) / SECOND)) }
}

const MAX_REMEMBERED = 10_000

/**
 * Remembers limits that were exceeded for up to a second, so that a flood of refused requests does not reach the database. Not for longer:
 * a place may be given back, by any process.
 */
function createRefusalMemory() {
  const refusals = new Map<string, { readonly freeAt: number; readonly until: number }>()
  return {
    /** When the limit is fully available again, if it was exceeded a moment ago and still is. */
    read(key: string, at: number): number | undefined {
      const refusal = refusals.get(key)
      return refusal !== undefined && at < refusal.until && at >= refusal.until - SECOND ? refusal.freeAt : undefined
    },
    write(key: string, freeAt: number, until: number): void {
      if (refusals.size >= MAX_REMEMBERED) refusals.clear()
      refusals.set(key, { freeAt, until })
    },
  }
}
