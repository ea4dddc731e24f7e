import type { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Abandoned, Refusal } from '../../model/refusal.ts'
import { begin, deadlineIn, guarded, isBusy, rollBack } from './connection.ts'

export type WriteQueue = ReturnType<typeof createWriteQueue>

export type WriteQueueParts = {
  readonly connection: DatabaseSync
  /** A write that cannot begin within this time is refused. */
  readonly deadlineMs: number
  /** A batch takes no further writes after this time: it is committed, and other work runs. */
  readonly batchMs?: number
  /** Throws if a restart would open other files than the ones that are being written to. */
  readonly requireFiles: () => void
  /** Called before each batch, which occupies the thread: reads that wait are answered first. */
  readonly beforeBatch?: () => void
}

type Write = {
  readonly deadline: number
  readonly work: () => Promise<unknown>
  readonly signal: AbortSignal | undefined
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

const BATCH_MS = 20
// Node accepts one connection in each turn of the event loop. An idle turn takes microseconds.
const MAX_TURNS = 50

/**
 * Commits waiting writes as one batch, because the disk takes as long for one commit as for many writes in it. Each write has its own
 * savepoint, so that one that fails is rolled back alone. No promise settles before the commit, not even that of a write that was refused
 * because of another write in the batch; if the commit fails, all of them are rejected.
 */
export function createWriteQueue({
  connection,
  deadlineMs,
  batchMs = BATCH_MS,
  requireFiles,
  beforeBatch = () => undefined,
}: WriteQueueParts) {
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
      await writeBatch()
      await yieldToOtherWork(performance.now() - begunAt)
    }
    working = undefined
  }

  function overdue(): Write[] {
    const now = performance.now()
    const late = waiting.filter(({ deadline }) => deadline <= now)
    if (late.length > 0) waiting.splice(0, waiting.length, ...waiting.filter(({ deadline }) => deadline > now))
    return late
  }

  async function hasBegun(): Promise<boolean> {
    if (waiting.length === 0) return false
    try {
      requireFiles()
      // An earlier rollback may have failed.
      rollBack(connection)
      await begin(
        connection,
        waiting.reduce((first, { deadline }) => Math.min(first, deadline), Number.POSITIVE_INFINITY),
      )
      return true
    } catch (error) {
      // Another process may release its lock in time for the writes that arrived later.
      refuse(isBusy(error) ? overdue() : waiting.splice(0), error)
      return false
    }
  }

  async function writeBatch(): Promise<void> {
    const batch: Write[] = []
    const settlements: (() => void)[] = []
    beforeBatch()
    const endsAt = deadlineIn(batchMs)
    try {
      for (let next = waiting.shift(); next !== undefined; next = performance.now() < endsAt ? waiting.shift() : undefined) {
        batch.push(next)
        settlements.push(await attempt(next))
      }
      guarded(() => connection.exec('commit'))
      requireFiles()
    } catch (error) {
      refuse(batch, error)
      rollBack(connection)
      return
    }
    for (const settle of settlements) settle()
  }

  /** Runs one write in a savepoint. Returns a callback that settles its promise after the commit; throws if the whole batch is lost. */
  async function attempt(write: Write): Promise<() => void> {
    guarded(() => savepoint.run())
    try {
      requireClient(write)
      const result = await write.work()
      requireClient(write)
      guarded(() => release.run())
      return () => write.resolve(result)
    } catch (error) {
      // After an error of the disk, SQLite may have rolled back the whole transaction.
      if (!connection.isTransaction) throw new Refusal('unavailable', `SQLite rolled the transaction back: ${error}`, { cause: error })
      guarded(() => undo.run())
      guarded(() => release.run())
      return () => write.reject(error)
    }
  }

  return {
    /** Runs the work on the writing connection, alone. The promise resolves after the commit. It begins within `waitMs`, or is refused. */
    async add<Result>(write: () => Promise<Result>, signal?: AbortSignal, waitMs = deadlineMs): Promise<Result> {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      waiting.push({ deadline: deadlineIn(waitMs), work: write, signal, resolve, reject })
      working ??= work()
      // The promise resolves with the result of this work.
      return (await promise) as Result
    },
    /** Resolves when no write is waiting or running. */
    async idle(): Promise<void> {
      while (working) await working
    },
  }
}

/** A request that was answered with an error must not succeed afterwards. */
function requireClient({ signal }: Write): void {
  if (signal?.aborted) throw new Abandoned()
}

function refuse(writes: readonly Write[], error: unknown): void {
  for (const { reject } of writes) reject(error)
}

/**
 * Lets other work run for as long as the batch took, and for 20 ms at least, unless there is none: on a slow disk it would otherwise wait
 * behind every commit. The first turn does not count, because all clients whose writes were answered may send their next request in it.
 */
async function yieldToOtherWork(tookMs: number): Promise<void> {
  await nextTurn()
  const endsAt = deadlineIn(Math.max(tookMs, BATCH_MS))
  for (let turns = 1; turns < MAX_TURNS && performance.now() < endsAt; turns++) await nextTurn()
}
