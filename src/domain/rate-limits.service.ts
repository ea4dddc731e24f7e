import { TooManyRequests } from '../model/refusal.ts'
import type { LimitKeys } from '../security/limit-keys.ts'
import type { Database } from '../storage/database.ts'
import { giveBack, keepUntil, readFreeAt, takePlace } from '../storage/repositories/operations/rate-limit.repository.ts'
import type { Observer } from './observer.ts'
import { emailKey } from './values/email.ts'
import { networkOf } from './values/network.ts'
import type { AccountLimit, AddressLimit, LimitName, RateLimit, RateLimits } from './values/rate-limits.ts'

/** The limits of the settings, shared by all processes of one database (docs/decisions/0025-rate-limits.md). */
export type Limiter = {
  has(name: LimitName): boolean
  /** Counts a request from an address, or refuses it. */
  countAddress(name: AddressLimit, ip: string | undefined): Promise<void>
  /** Counts a request about an e-mail address, or refuses it. Costs the same whether or not the address has an account. */
  countAccount(name: AccountLimit, email: string, ip: string | undefined): Promise<void>
  /** A login with the right password does not count, and makes the network of its client known to the account. */
  loggedIn(email: string, ip: string | undefined): Promise<void>
  /** Makes the network of a client known to an account: a password reset shows who owns it. */
  recognise(email: string, ip: string | undefined): Promise<void>
}

export type LimiterParts = {
  readonly db: Database
  readonly limits: RateLimits
  readonly keyOf: LimitKeys
  readonly observer: Pick<Observer, 'limited'>
  readonly now: () => number
}

const MICROSECONDS = 1000
const SECOND = 1_000_000
const KNOWN_FOR_MS = 30 * 24 * 60 * 60_000
// Clocks of several machines differ a little. A limit that is further in the future than this was counted by a clock that was wrong.
const MAX_CLOCK_DIFFERENCE = 60 * SECOND
const MAX_REMEMBERED = 10_000

export function createLimiter({ db, limits, keyOf, observer, now }: LimiterParts): Limiter {
  const refusals = createRefusalMemory()

  async function count(name: LimitName, key: string): Promise<void> {
    const limit = limits[name]
    if (limit === undefined) return
    const at = now() * MICROSECONDS
    const { interval, tolerance } = costOf(limit)
    const freeAt = refusals.read(key, at) ?? (await take(key, at, interval, tolerance))
    if (freeAt === undefined) return
    observer.limited(name)
    throw new TooManyRequests(Math.max(1, Math.ceil((freeAt - tolerance - at) / SECOND)), name)
  }

  /** Takes a place. Returns, if there is none, when the limit is fully available again. */
  async function take(key: string, at: number, interval: number, tolerance: number): Promise<number | undefined> {
    const latest = at + tolerance
    const implausible = latest + interval + MAX_CLOCK_DIFFERENCE
    if (await takePlace(db, { key, now: at, interval, latest, implausible })) return undefined
    const freeAt = (await readFreeAt(db, key)) ?? latest
    // While this request waited for the database, later ones may have taken its place. Try again with the current time.
    const later = now() * MICROSECONDS
    if (later > at && freeAt <= later + tolerance) return take(key, later, interval, tolerance)
    refusals.write(key, freeAt, Math.min(at + SECOND, freeAt - tolerance))
    return freeAt
  }

  /**
   * Guesses from anywhere count together. A network that the account was used from counts apart, so that an attacker elsewhere cannot
   * keep the owner out.
   */
  async function accountKey(name: AccountLimit, email: string, ip: string | undefined): Promise<string> {
    const account = emailKey(email)
    if (name !== 'login:account' || limits[name] === undefined) return keyOf(name, account)
    const knownUntil = await readFreeAt(db, knownKey(email, ip))
    return knownUntil !== undefined && knownUntil > now() * MICROSECONDS ? keyOf(name, account, networkOf(ip)) : keyOf(name, account)
  }

  function knownKey(email: string, ip: string | undefined): string {
    return keyOf('known', emailKey(email), networkOf(ip))
  }

  async function undo(name: LimitName, key: string): Promise<void> {
    const limit = limits[name]
    if (limit !== undefined) await giveBack(db, key, costOf(limit).interval)
  }

  async function makeKnown(email: string, ip: string | undefined): Promise<void> {
    if (limits['login:account'] !== undefined) await keepUntil(db, knownKey(email, ip), (now() + KNOWN_FOR_MS) * MICROSECONDS)
  }

  return {
    has: (name) => limits[name] !== undefined,
    countAddress: (name, ip) => count(name, keyOf(name, networkOf(ip))),
    countAccount: async (name, email, ip) => count(name, await accountKey(name, email, ip)),
    async loggedIn(email, ip) {
      if (limits['login:ip'] === undefined && limits['login:account'] === undefined) return
      await unlessFailed(async () => {
        const account = await accountKey('login:account', email, ip)
        await Promise.all([undo('login:ip', keyOf('login:ip', networkOf(ip))), undo('login:account', account), makeKnown(email, ip)])
      })
    },
    recognise: (email, ip) => unlessFailed(() => makeKnown(email, ip)),
  }
}

/** Lets a request pass if every limiter does. */
export function combineLimiters(limiters: readonly Limiter[]): Limiter {
  async function each(work: (limiter: Limiter) => Promise<void>): Promise<void> {
    for (const limiter of limiters) await work(limiter)
  }
  return {
    has: (name) => limiters.some((limiter) => limiter.has(name)),
    countAddress: (name, ip) => each((limiter) => limiter.countAddress(name, ip)),
    countAccount: (name, email, ip) => each((limiter) => limiter.countAccount(name, email, ip)),
    loggedIn: (email, ip) => each((limiter) => limiter.loggedIn(email, ip)),
    recognise: (email, ip) => each((limiter) => limiter.recognise(email, ip)),
  }
}

/** The request itself has succeeded by now. A count that stays does little harm, and requests that need the database report an outage. */
async function unlessFailed(work: () => Promise<void>): Promise<void> {
  await work().catch(() => undefined)
}

/** What one request costs, and how much of that may be outstanding when another one passes, in microseconds. */
function costOf({ count, periodMs }: RateLimit): { readonly interval: number; readonly tolerance: number } {
  const interval = Math.ceil((periodMs * MICROSECONDS) / count)
  return { interval, tolerance: interval * (count - 1) }
}

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
