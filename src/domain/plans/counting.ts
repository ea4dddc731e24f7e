import { setImmediate as nextTurn } from 'node:timers/promises'
import { Refusal } from '../../model/refusal.ts'
import type { LimitWindow } from '../../model/usage.ts'
import { within } from '../../shared/within.ts'
import type { Database } from '../../storage/database.ts'
import { claim, findWindow, giveBack } from '../../storage/repositories/plans/window.repository.ts'
import type { Limit } from '../values/plans.ts'
import {
  claimAmount,
  endRound,
  enter,
  grant,
  isForgettable,
  isLow,
  isOver,
  isRefused,
  learn,
  MAX_CLOCK_DIFFERENCE_MS,
  newShare,
  ROUND_MS,
  remaining,
  type Share,
} from './shares.ts'

/** A limit that a request counts for. */
export type Counter = {
  /** For people, such as `account-minute`. */
  readonly name: string
  /** The account or the key. */
  readonly subject: string
  readonly limit: Limit
  /** Both in one text, by which the share is found. */
  readonly id: string
}

export function counterOf(name: string, subject: string, limit: Limit): Counter {
  return { name, subject, limit, id: idOf(subject, limit.periodMs) }
}

function idOf(subject: string, periodMs: number): string {
  return `${subject} ${periodMs}`
}

/** What is left of a limit. The time is unknown before the first request of a window. */
export type Quota = { readonly counter: Counter; readonly remaining: number; readonly resetMs: number | undefined }

type Pair = { readonly counter: Counter; readonly share: Share }

/** What is left after a request that has passed. */
export type Taken = readonly Quota[] | 'refused'

export type Counting = ReturnType<typeof createCounting>

const MAX_ATTEMPTS = 3
// On SQLite, which writes on this thread, a batch of this size takes a few milliseconds.
const GIVE_BACK_SIZE = 500
// /auth/check has no deadline: the read of the caller may have taken two seconds, and every client gets a response within three.
const CLAIM_DEADLINE_MS = 900

/**
 * Counts requests for all processes of one database (docs/decisions/0002-plans.md). A process takes a share of a limit from the database
 * before requests use it, so that a kill forgets nothing and no limit is exceeded, and gives back what it does not use.
 */
export function createCounting(db: Database, now: () => number) {
  const shares = new Map<string, Share>()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  function shareOf({ id, subject, limit: { periodMs } }: Counter): Share {
    const known = shares.get(id)
    if (known !== undefined) {
      enter(known, now())
      return known
    }
    const share = newShare(subject, periodMs)
    shares.set(id, share)
    return share
  }

  const pairsOf = (counters: readonly Counter[]): readonly Pair[] => counters.map((counter) => ({ counter, share: shareOf(counter) }))

  const quotasOf = (pairs: readonly Pair[]): readonly Quota[] =>
    pairs.map(({ counter, share }) => ({
      counter,
      remaining: remaining(share, counter.limit),
      resetMs: share.endsAt === 0 ? undefined : share.endsAt - now(),
    }))

  /** Takes the cost from all shares, or from none. */
  function spend(pairs: readonly Pair[], cost: number): boolean {
    if (pairs.some(({ share, counter: { limit } }) => share.held < cost || isOver(share, cost, limit))) return false
    for (const { share } of pairs) {
      share.held -= cost
      share.spent += cost
    }
    return true
  }

  function areRefused(pairs: readonly Pair[], cost: number): boolean {
    return pairs.some(({ share, counter: { limit } }) => isRefused(share, cost, limit, now()))
  }

  async function ask(share: Share, limit: Limit): Promise<void> {
    // Requests that arrive in the same turn are claimed together.
    await nextTurn()
    const { subject, periodMs } = share
    const need = Math.max(1, Math.min(share.wanted, limit.count))
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const at = now()
      enter(share, at)
      const amount = claimAmount(share, attempt === 0 ? need : 1, limit)
      const latestEnd = at + periodMs + MAX_CLOCK_DIFFERENCE_MS
      const state = await claim(db, { subject, periodMs, amount, limit: limit.count, now: at, latestEnd })
      if (state !== undefined) return grant(share, state, amount)
      const found = await findWindow(db, subject, periodMs)
      if (found === undefined) continue
      learn(share, found)
      if (found.used >= limit.count) break
    }
    share.refusedAt = now()
  }

  /** Claims that are asked for while one is in progress wait for it, and are part of the next. */
  function claimFor(share: Share, limit: Limit): Promise<void> {
    share.claiming ??= ask(share, limit).finally(() => {
      share.claiming = undefined
      schedule()
    })
    return share.claiming
  }

  async function wait(share: Share, limit: Limit, cost: number): Promise<void> {
    share.wanted += cost
    try {
      await claimFor(share, limit)
    } finally {
      share.wanted -= cost
    }
  }

  async function takeSlowly(counters: readonly Counter[], cost: number, late: AbortSignal): Promise<Taken> {
    while (!late.aborted) {
      const pairs = pairsOf(counters)
      if (spend(pairs, cost)) return quotasOf(pairs)
      if (areRefused(pairs, cost)) return 'refused'
      const short = pairs.filter(({ share }) => share.held < cost)
      await Promise.all(short.map(({ share, counter: { limit } }) => wait(share, limit, cost - share.held)))
    }
    return 'refused'
  }

  async function takeInTime(counters: readonly Counter[], cost: number): Promise<Taken> {
    const late = new AbortController()
    const taken = await within(CLAIM_DEADLINE_MS, takeSlowly(counters, cost, late.signal), undefined)
    if (taken !== undefined) return taken
    late.abort()
    throw new Refusal('unavailable', 'counting the request took too long')
  }

  /** Claims in the same turn are one write on SQLite. */
  function claimAhead(pairs: readonly Pair[]): void {
    if (!pairs.some(({ share, counter: { limit } }) => share.claiming === undefined && isLow(share, limit, 4))) return
    for (const { share, counter } of pairs)
      if (share.claiming === undefined && isLow(share, counter.limit, 2)) void claimFor(share, counter.limit).catch(() => undefined)
  }

  function schedule(): void {
    if (!isStopped) timer ??= setTimeout(() => void round().catch(() => undefined), ROUND_MS).unref()
  }

  /** Gives back what was not used. After an error it is lost for the rest of the window. */
  async function round(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const unused = [...shares].flatMap(([id, share]) => settle(id, share) ?? [])
    try {
      // A write for each of thousands of keys would keep the requests of a second waiting.
      for (let start = 0; start < unused.length; start += GIVE_BACK_SIZE)
        for (const { subject, periodMs, endsAt, used } of await giveBack(db, unused.slice(start, start + GIVE_BACK_SIZE))) {
          const share = shares.get(idOf(subject, periodMs))
          if (share?.endsAt === endsAt) share.used = used
        }
    } finally {
      if (shares.size > 0) schedule()
    }
  }

  /** Ends the round of a share. Returns what to give back, if anything. */
  function settle(id: string, share: Share): LimitWindow | undefined {
    enter(share, now())
    const amount = isStopped ? share.held : endRound(share)
    if (isForgettable(share)) shares.delete(id)
    if (amount === 0) return undefined
    share.held -= amount
    const { subject, periodMs, endsAt } = share
    return { subject, periodMs, endsAt, used: amount }
  }

  return {
    /** Takes the cost from all limits, or from none: at once, unless the database has to be asked. */
    take(counters: readonly Counter[], cost: number): Taken | Promise<Taken> {
      if (counters.some(({ limit }) => cost > limit.count)) return 'refused'
      const pairs = pairsOf(counters)
      if (!spend(pairs, cost)) return areRefused(pairs, cost) ? 'refused' : takeInTime(counters, cost)
      claimAhead(pairs)
      return quotasOf(pairs)
    },
    /** Undoes what a request has taken that then failed. */
    undo(counters: readonly Counter[], cost: number): void {
      for (const share of counters.map(shareOf)) if (share.endsAt > 0) share.held += cost
    },
    /** What is left of each limit, without asking. */
    quotas: (counters: readonly Counter[]): readonly Quota[] => quotasOf(pairsOf(counters)),
    round,
    /** Gives back everything. Called after the last request. */
    async stop(): Promise<void> {
      isStopped = true
      await round()
    },
  }
}
