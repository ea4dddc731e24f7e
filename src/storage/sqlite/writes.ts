import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Abandoned, Refusal } from '../../model/refusal.ts'
import { begin, commit, deadlineIn, guarded, isBusy } from './connection.ts'

export type WriteQueue = {
  /** Does the work on the writing connection, where nothing else happens meanwhile. It is committed when this resolves. */
  add<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
  /** Resolves when nothing is left to be written. */
  idle(): Promise<void>
}

export type WriteQueueParts = {
  readonly connection: DatabaseSync
  /** A write that could not begin in this time is refused. */
  readonly deadlineMs: number
  /** For so long writes follow one another before they are committed and other work has its turn. */
  readonly roundMs?: number
  readonly beforeCommit: () => void
  /** Throws when what is written would not be found after a restart. */
  readonly requireKept: () => void
}

type Write = {
  readonly deadline: number
  readonly work: () => Promise<unknown>
  readonly signal: AbortSignal | undefined
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

const ROUND_MS = 20
// Node accepts one connection in a turn of the event loop. A turn without anything to do takes microseconds.
const MAX_TURNS = 50

/**
 * Writes that wait are committed together, because the disk takes as long for many as for one. Each stands for itself: what fails is undone
 * alone. None is answered before the commit, not even one that is refused because of what another has written, and all fail with it.
 */
export function createWriteQueue(parts: WriteQueueParts): WriteQueue {
  const { connection, deadlineMs, roundMs = ROUND_MS, beforeCommit, requireKept } = parts
  const savepoint = connection.prepare('savepoint one')
  const release = connection.prepare('release one')
  const undo = connection.prepare('rollback to one')
  const waiting: Write[] = []
  let working: Promise<void> | undefined

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      await nextTurn()
      const late = overdue()
      if (late.length > 0) refuse(late, new Refusal('unavailable', `SQLite: a write could not begin within ${deadlineMs} ms`))
      if (!(await hasBegun())) continue
      const begunAt = performance.now()
      await writeRound()
      await leaveTurns(performance.now() - begunAt)
    }
    working = undefined
  }

  function overdue(): Write[] {
    const now = performance.now()
    const inTime = waiting.findIndex(({ deadline }) => deadline > now)
    return waiting.splice(0, inTime === -1 ? waiting.length : inTime)
  }

  async function hasBegun(): Promise<boolean> {
    const [oldest] = waiting
    if (oldest === undefined) return false
    try {
      requireKept()
      // What could not be undone before.
      rollBack(connection)
      await begin(connection, oldest.deadline)
      return true
    } catch (error) {
      // A lock of another process may be let go in time for those who came later.
      refuse(isBusy(error) ? overdue() : waiting.splice(0), error)
      return false
    }
  }

  async function writeRound(): Promise<void> {
    const round: Write[] = []
    const answers: (() => void)[] = []
    const endsAt = deadlineIn(roundMs)
    try {
      for (let next = waiting.shift(); next !== undefined; next = performance.now() < endsAt ? waiting.shift() : undefined) {
        round.push(next)
        answers.push(await attempt(next))
      }
      beforeCommit()
      commit(connection)
      requireKept()
    } catch (error) {
      refuse(round, error)
      rollBack(connection)
      return
    }
    for (const answer of answers) answer()
  }

  /** Gives what is to be said to the caller after the commit. Throws when the whole round is lost. */
  async function attempt(write: Write): Promise<() => void> {
    guarded(() => savepoint.run())
    try {
      requireNeed(write)
      const result = await write.work()
      requireNeed(write)
      guarded(() => release.run())
      return () => write.resolve(result)
    } catch (error) {
      // A fault of the disk may have undone all that came before as well.
      if (!connection.isTransaction)
        throw new Refusal('unavailable', `SQLite has undone what was being written: ${error}`, { cause: error })
      guarded(() => undo.run())
      guarded(() => release.run())
      return () => write.reject(error)
    }
  }

  return {
    async add<Result>(write: () => Promise<Result>, signal?: AbortSignal) {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      waiting.push({ deadline: deadlineIn(deadlineMs), work: write, signal, resolve, reject })
      working ??= work()
      // It is resolved with what this very work has given.
      return (await promise) as Result
    },
    async idle() {
      while (working) await working
    },
  }
}

/** Who has been told that it failed must not find later that it happened. */
function requireNeed({ signal }: Write): void {
  if (signal?.aborted) throw new Abandoned()
}

function refuse(writes: readonly Write[], error: unknown): void {
  for (const { reject } of writes) reject(error)
}

/** A failed commit may have ended the transaction already; where not even this works, the next round fails as it begins. */
function rollBack(connection: DatabaseSync): void {
  try {
    if (connection.isTransaction) connection.exec('rollback')
  } catch {
    // Those who wrote have been told.
  }
}

/**
 * Other work goes first for as long as the writing took, and 20 ms at least, unless there is none: on a slow disk it would wait behind each
 * commit. Those who have been answered ask again in the first turn, all at once, which may take longer than that.
 */
async function leaveTurns(tookMs: number): Promise<void> {
  await nextTurn()
  const endsAt = deadlineIn(Math.max(tookMs, ROUND_MS))
  for (let turns = 1; turns < MAX_TURNS && performance.now() < endsAt; turns++) await nextTurn()
}
