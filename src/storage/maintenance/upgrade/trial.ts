/** What the pending migrations do to a database, tried without changing it. */
export type Trial = {
  readonly pending: readonly string[]
  /** The migrations of a newer version that this version can work with. */
  readonly newer: readonly string[]
  /** The migrations that were tried, in order. */
  readonly steps: readonly { readonly name: string; readonly tookMs: number }[]
  readonly tookMs: number
  /** The tables that requests wait for meanwhile. */
  readonly waits: readonly Wait[]
  readonly size: TrialSize
  /** Why the trial ended early, to keep requests from waiting longer. */
  readonly stopped: Stop | undefined
}

/** The part of a trial without pending migrations that is the same on both databases. */
export const NOTHING_TRIED = { steps: [], tookMs: 0, waits: [], stopped: undefined } as const

export type Wait = { readonly table: string; readonly blocks: Blocks; readonly forMs: number }
export const BY_STRENGTH = ['changes of the same rows', 'writes', 'reads and writes'] as const
export type Blocks = (typeof BY_STRENGTH)[number]

export type TrialSize = {
  readonly before: number
  readonly after: number
  /** The part of the growth that is indexes; undefined where the database does not say. */
  readonly indexGrowth: number | undefined
  /** What is written to the write-ahead log. */
  readonly log: number
}

export type Stop = { readonly name: string; readonly afterMs: number }

export type TrialOptions = {
  /** How long requests may wait for the trial. */
  readonly maxWaitMs: number
  /** Called often; throws if the user has interrupted the command. */
  readonly check: () => void
  readonly folder?: string
}

/** The trial could not take place. */
export class TrialError extends Error {
  override readonly name = 'TrialError'
}

/** Requests that wait for longer than this are a disturbance: after two seconds they are answered with 503. */
const NOTICEABLE_MS = 1000

export type Verdict = 'nothing pending' | 'harmless' | 'heavy'

export function verdictOf({ pending, stopped, waits }: Trial): Verdict {
  if (pending.length === 0) return 'nothing pending'
  return stopped !== undefined || longestWait(waits) > NOTICEABLE_MS ? 'heavy' : 'harmless'
}

export function longestWait(waits: readonly Wait[]): number {
  return Math.max(0, ...waits.map(({ forMs }) => forMs))
}
