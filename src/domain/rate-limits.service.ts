import type { Origin } from '../model/caller.ts'
import { Refusal, type RefusalCode, TooManyRequests } from '../model/refusal.ts'
import type { LimitKeys } from '../security/limit-keys.ts'
import type { Database } from '../storage/database.ts'
import { giveBack, readFreeAt, takePlace } from '../storage/repositories/operations/rate-limit.repository.ts'
import type { Observer } from './observer.ts'
import type { KnownNetworks } from './sessions/known-networks.ts'
import { emailKey } from './values/email.ts'
import { networkOf } from './values/network.ts'
import type { AccountLimit, AddressLimit, LimitName, RateLimit, RateLimits } from './values/rate-limits.ts'

/** What a request has counted. Only the request that has it can give it back, and only once. */
export type Place = { giveBack(): Promise<void> }

/** The limits of the settings, shared by all processes of one database (docs/decisions/0025-rate-limits.md). */
export type Limiter = {
  has(name: LimitName): boolean
  /** Counts a request from an address, or refuses it. */
  countAddress(name: AddressLimit, ip: string | undefined): Promise<Place>
  /** Counts a request about an e-mail address, or refuses it. Costs the same whether or not the address has an account. */
  countAccount(name: AccountLimit, email: string, ip: string | undefined): Promise<Place>
  /** Counts a request that sends a mail, by its address and by the address of the mail. */
  countMail(email: string, ip: string | undefined): Promise<void>
  /** Counts and runs work that compares a password. It counts like a login: by its failure. */
  attempt<Result>(email: string, origin: Origin, work: () => Promise<Result>): Promise<Result>
  /**
   * Runs a login that has counted already. The places are given back unless a password was compared and refused, or the client has
   * disconnected. The right password makes the network of the client known to the account.
   */
  settle<Result>(places: readonly Place[] | undefined, email: string, origin: Origin, work: () => Promise<Result>): Promise<Result>
  /** Makes the network of a client known to an account: a password reset shows who owns it. */
  recognise(email: string, ip: string | undefined): Promise<void>
}

/** Limits, and the names of their counts. */
export type LimitRules = { readonly limits: RateLimits; readonly keyOf: LimitKeys }

export type LimiterParts = {
  readonly db: Database
  /** A request passes if all of them let it pass. */
  readonly rules: readonly LimitRules[]
  readonly known: KnownNetworks
  readonly observer: Pick<Observer, 'limited'>
  readonly now: () => number
}

/** One limit that a request counts for. Times are microseconds. */
type Counter = { readonly name: LimitName; readonly key: string; readonly interval: number; readonly tolerance: number }
type Outcome = {
  readonly counter: Counter
  /** When the limit is fully available again. */
  readonly freeAt: number
  /** Zero if the request has passed. */
  readonly waitSeconds: number
}

const MICROSECONDS = 1000
const SECOND = 1_000_000
// Clocks of several machines differ a little. A limit that is further in the future than this was counted by a clock that was wrong.
const MAX_CLOCK_DIFFERENCE = 60 * SECOND
const MAX_REMEMBERED = 10_000
/** Refusals of a password that was compared. A request that is refused for another reason, or fails, says nothing about a password. */
const GUESSES: ReadonlySet<RefusalCode> = new Set(['wrong_credentials', 'login_banned', 'login_unverified'] as const)

export function createLimiter({ db, rules, known, observer, now }: LimiterParts): Limiter {
  const refusals = createRefusalMemory()
  const has = (name: LimitName) => rules.some(({ limits }) => limits[name] !== undefined)

  function countersOf(name: LimitName, ...about: readonly string[]): readonly Counter[] {
    return rules.flatMap(({ limits, keyOf }) => {
      const limit = limits[name]
      return limit === undefined ? [] : [{ name, key: keyOf(name, ...about), ...costOf(limit) }]
    })
  }

  /**
   * Guesses from anywhere count together. A network that the account was used from counts apart, so that an attacker elsewhere cannot
   * keep the owner out.
   */
  async function accountCounters(name: AccountLimit, email: string, ip: string | undefined): Promise<readonly Counter[]> {
    if (!has(name)) return []
    const isApart = name === 'login:account' && (await known.has(email, ip))
    return countersOf(name, emailKey(email), ...(isApart ? [networkOf(ip)] : []))
  }

  /** Takes a place in each limit, or in none. A refusal says when the last of the exceeded limits lets a request pass. */
  async function takeAll(counters: readonly Counter[]): Promise<Place> {
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

  function readRefusal(counter: Counter): Outcome[] {
    const at = now() * MICROSECONDS
    const freeAt = refusals.read(counter.key, at)
    return freeAt === undefined ? [] : [refusedOutcome(counter, freeAt, at)]
  }

  async function take(counter: Counter): Promise<Outcome> {
    const at = now() * MICROSECONDS
    const { freeAt, isTaken } = await takeAt(counter, at)
    return isTaken ? { counter, freeAt, waitSeconds: 0 } : refusedOutcome(counter, freeAt, at)
  }

  async function takeAt(counter: Counter, at: number): Promise<{ readonly freeAt: number; readonly isTaken: boolean }> {
    const { key, interval, tolerance } = counter
    const latest = at + tolerance
    const implausible = latest + interval + MAX_CLOCK_DIFFERENCE
    const taken = await takePlace(db, { key, now: at, interval, latest, implausible })
    if (taken !== undefined) return { freeAt: taken, isTaken: true }
    const freeAt = (await readFreeAt(db, key)) ?? latest
    // While this request waited for the database, later ones may have taken its place. Try again with the current time.
    const later = now() * MICROSECONDS
    if (later > at && freeAt <= later + tolerance) return takeAt(counter, later)
    refusals.write(key, freeAt, Math.min(at + SECOND, freeAt - tolerance))
    return { freeAt, isTaken: false }
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

  async function settle<Result>(places: readonly Place[] = [], email: string, { ip, signal }: Origin, work: () => Promise<Result>) {
    try {
      const result = await work()
      await Promise.all([...places.map((place) => place.giveBack()), known.add(email, ip)])
      return result
    } catch (error) {
      if (!isGuess(error) && !hasDisconnected(signal)) await Promise.all(places.map((place) => place.giveBack()))
      throw error
    }
  }

  return {
    has,
    countAddress: (name, ip) => takeAll(countersOf(name, networkOf(ip))),
    countAccount: async (name, email, ip) => takeAll(await accountCounters(name, email, ip)),
    async countMail(email, ip) {
      await takeAll([...countersOf('mail:ip', networkOf(ip)), ...(await accountCounters('mail:account', email, ip))])
    },
    async attempt(email, origin, work) {
      const { ip } = origin
      const place = await takeAll([...countersOf('login:ip', networkOf(ip)), ...(await accountCounters('login:account', email, ip))])
      return settle([place], email, origin, work)
    },
    settle,
    recognise: known.add,
  }
}

function isGuess(error: unknown): boolean {
  return error instanceof Refusal && GUESSES.has(error.code)
}

/** A client could otherwise have any number of passwords hashed by disconnecting meanwhile. An expired deadline has a refusal as its reason. */
function hasDisconnected(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && !(signal.reason instanceof Refusal)
}

function refusedOutcome(counter: Counter, freeAt: number, at: number): Outcome {
  return { counter, freeAt, waitSeconds: Math.max(1, Math.ceil((freeAt - counter.tolerance - at) / SECOND)) }
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
