import type { WindowState } from '../../model/usage.ts'
import type { Limit } from '../values/plans.ts'

/** A limit of one account or one key, as a process knows it: `limit` may change from request to request, with the plan. */
export type Share = {
  readonly subject: string
  readonly periodMs: number
  /** What this process has taken from the limit and not used yet. */
  held: number
  /** What all processes have taken in this window, when the database last said so. */
  used: number
  /** When the window ends; 0 while it is unknown. */
  endsAt: number
  /** When the database last refused a claim. */
  refusedAt: number
  /** How much the next claim takes beyond what is needed. */
  size: number
  /** What requests have used since the last round. */
  spent: number
  /** For how many rounds nothing was used. */
  idleRounds: number
  /** What requests wait for. */
  wanted: number
  /** The claim in progress. */
  claiming: Promise<void> | undefined
}

// A process takes at most this part of what is left. At the end of a window each claim is for one request, so that nothing is left over.
const PARTS = 64
const MAX_SIZE = 65_536
const GROWTH = 4
// Processes that were refused ask again after this time: others give back what they do not use.
const REFUSAL_MS = 1000
/** Between two rounds, in which processes give back what they do not use. */
export const ROUND_MS = 1000
// A key that is used now and then costs fewer writes if it takes some requests at once and keeps them for a while. An hour is long enough
// that other processes can wait for them.
const LONG_PERIOD_MS = 3_600_000
const LONG_SIZE = 8
const LONG_IDLE_ROUNDS = 10
// For the headers of the next response, nothing more.
const REMEMBERED_ROUNDS = 60
// Clocks of several machines differ a little. A window that ends later than that was begun by a clock that was wrong.
export const MAX_CLOCK_DIFFERENCE_MS = 60_000

export function newShare(subject: string, periodMs: number): Share {
  return {
    subject,
    periodMs,
    held: 0,
    used: 0,
    endsAt: 0,
    refusedAt: Number.NEGATIVE_INFINITY,
    size: firstSize(periodMs),
    spent: 0,
    idleRounds: 0,
    wanted: 0,
    claiming: undefined,
  }
}

/** Forgets a window that has ended. What was held of it is worth nothing. */
export function enter(share: Share, now: number): void {
  const { endsAt, periodMs } = share
  if (endsAt === 0 || (endsAt > now && endsAt <= now + periodMs + MAX_CLOCK_DIFFERENCE_MS)) return
  share.held = 0
  share.used = 0
  share.endsAt = 0
  share.refusedAt = Number.NEGATIVE_INFINITY
}

/** Adds what a claim has taken. Claims grow until one lasts for a round. */
export function grant(share: Share, state: WindowState, amount: number): void {
  learn(share, state)
  share.held += amount
  if (share.spent >= share.size) share.size = Math.min(Math.max(1, share.size * GROWTH), MAX_SIZE)
}

/** Another process may have begun a window that this one does not know yet. */
export function learn(share: Share, { endsAt, used }: WindowState): void {
  if (share.endsAt !== endsAt) share.held = 0
  share.endsAt = endsAt
  share.used = used
}

function firstSize(periodMs: number): number {
  return periodMs >= LONG_PERIOD_MS ? LONG_SIZE : 0
}

/** How much to claim: what requests wait for, and a part of what is left. Never more than is left, as far as this process knows. */
export function claimAmount({ size, wanted, used }: Share, need: number, { count }: Pick<Limit, 'count'>): number {
  const left = Math.max(0, count - used)
  const ahead = Math.min(size, Math.floor(left / PARTS))
  return Math.max(need, Math.min(Math.max(wanted, need) + ahead, left))
}

/** What is left of the limit, as far as this process knows. */
export function remaining({ used, held }: Pick<Share, 'used' | 'held'>, { count }: Pick<Limit, 'count'>): number {
  return Math.max(0, Math.min(count, count - used + held))
}

/** Whether the limit has become smaller than what was used and this: a share that was taken before does not pass. */
export function isOver({ used, held }: Share, cost: number, { count }: Pick<Limit, 'count'>): boolean {
  return used - held + cost > count
}

/** Whether a claim would be refused, so that it need not be made. */
export function isRefused(share: Share, cost: number, limit: Pick<Limit, 'count'>, now: number): boolean {
  const { held, refusedAt, used } = share
  if (held >= cost) return isOver(share, cost, limit)
  return now >= refusedAt && now - refusedAt < REFUSAL_MS && used + cost - held > limit.count
}

/**
 * Whether to ask for more before the share is used up, so that a busy key seldom waits. A request that has to write for one of its limits
 * anyway asks earlier for the others.
 */
export function isLow({ held, size, spent, used }: Share, { count }: Pick<Limit, 'count'>, part: 2 | 4): boolean {
  return held * part < size && spent > held && count - used >= size * 4
}

/** Ends a round: returns how much to give back. A busy process keeps what it needs for the next round or two. */
export function endRound(share: Share): number {
  const { held, spent, periodMs } = share
  const isBusy = spent > 0
  share.idleRounds = isBusy ? 0 : share.idleRounds + 1
  // A key that pauses for a second or two is as busy as before.
  share.size = Math.max(firstSize(periodMs), spent, Math.floor(share.size / GROWTH))
  share.spent = 0
  if (isBusy) return held > 2 * spent ? held - spent : 0
  return share.idleRounds >= (periodMs >= LONG_PERIOD_MS ? LONG_IDLE_ROUNDS : 1) ? held : 0
}

/** Whether nothing is left to remember: the next request asks the database anyway. */
export function isForgettable({ held, idleRounds, claiming }: Share): boolean {
  return held === 0 && idleRounds >= REMEMBERED_ROUNDS && claiming === undefined
}
