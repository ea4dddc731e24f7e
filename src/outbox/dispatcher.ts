import { randomUUID } from 'node:crypto'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Claim } from '../storage/repositories/delivery/leased-rows.ts'
import { LEASE_MS, RENEWAL_MS, whileLeased } from './leases.ts'

/** What remains to be saved after an attempt. It may be called again when it fails. */
export type Outcome = () => Promise<void>

/** How the entries of one outbox are claimed and delivered. An entry carries the lease that it was claimed with. */
export type Delivery<Entry extends { readonly id: number }> = {
  claim(claim: Claim): Promise<Entry[]>
  renew(entry: Entry, leaseEndsAt: number): Promise<void>
  /** Makes an entry due at once, for any process. */
  release(entry: Entry): Promise<void>
  /** Never throws: an error is an outcome too. */
  attempt(entry: Entry): Promise<Outcome>
  /** Removes a batch of entries that need no attempt. True when there may be more. */
  prune(): Promise<boolean>
  /** Aborts the attempts in progress. */
  close(): Promise<void>
}

export type Dispatcher = {
  /** Call this after an entry was queued. Returns at once; does nothing before the start. */
  wake(): void
  start(): void
  /** Stops claiming, finishes the attempts in progress or aborts them after a deadline, and releases their entries. */
  stop(): Promise<void>
  /** Delivers until nothing is due. */
  drain(): Promise<void>
}

export type DispatcherOptions = {
  readonly now: () => number
  readonly logger: DispatcherLogger
  readonly random?: () => number
  readonly concurrency?: number
  readonly stopDeadlineMs?: number
  readonly renewalMs?: number
}

export type DispatcherLogger = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>

const CONCURRENCY = 4
// The response to the request goes out before the work begins, which takes longer for an address with an account than for one without;
// and entries that are queued together are claimed together.
const WAKE_DELAY_MS = 50
const POLL_MS = 3_000
const STOP_DEADLINE_MS = 5_000
const SAVE_TRIES = 8
const SAVE_PAUSE_MS = 1_000

/** Takes entries from an outbox and delivers them. Any number of processes may do so on one database. */
export function createDispatcher<Entry extends { readonly id: number }>(
  delivery: Delivery<Entry>,
  {
    now,
    logger,
    random = Math.random,
    concurrency = CONCURRENCY,
    stopDeadlineMs = STOP_DEADLINE_MS,
    renewalMs = RENEWAL_MS,
  }: DispatcherOptions,
): Dispatcher {
  const inFlight = new Set<Promise<void>>()
  const stopping = new AbortController()
  let current: Promise<void> | undefined
  let bell = Promise.withResolvers<void>()
  let isWoken = false
  let isStarted = false
  let isDatabaseAway = false
  let takesOverAt = Number.NEGATIVE_INFINITY
  let pollTimer: NodeJS.Timeout | undefined
  let wakeTimer: NodeJS.Timeout | undefined

  async function run(): Promise<void> {
    try {
      while (!stopping.signal.aborted) {
        isWoken = false
        bell = Promise.withResolvers()
        await prune()
        for (const entry of await claim(concurrency - inFlight.size)) launch(entry)
        if (isWoken) continue
        if (inFlight.size === 0) return
        await Promise.race([...inFlight, bell.promise])
      }
      await Promise.all(inFlight)
    } finally {
      current = undefined
    }
  }

  /** SQLite may answer without leaving the microtask queue: the event loop turns before each batch, so that requests are served in between. */
  async function prune(): Promise<void> {
    do await turn()
    while (!stopping.signal.aborted && (await delivery.prune()))
  }

  function runOnce(): Promise<void> {
    isWoken = true
    bell.resolve()
    if (stopping.signal.aborted) return Promise.resolve()
    current ??= run()
    return current
  }

  async function claim(limit: number): Promise<Entry[]> {
    if (limit === 0) return []
    try {
      const takesOver = !isDatabaseAway && now() >= takesOverAt
      const entries = await delivery.claim({ lease: randomUUID(), leaseEndsAt: now() + LEASE_MS, now: now(), limit, takesOver })
      // Nobody could renew a lease during the outage: the owners have the time of one lease to do so now.
      if (isDatabaseAway) takesOverAt = now() + LEASE_MS
      isDatabaseAway = false
      return entries
    } catch (error) {
      if (!isDatabaseAway) logger.warn({ err: error }, 'the outbox cannot be read; its entries wait')
      isDatabaseAway = true
      return []
    }
  }

  function launch(entry: Entry): void {
    const renew = () => delivery.renew(entry, now() + LEASE_MS)
    const delivered = whileLeased(renew, renewalMs, () => deliver(entry)).finally(() => inFlight.delete(delivered))
    inFlight.add(delivered)
  }

  async function deliver(entry: Entry): Promise<void> {
    if (stopping.signal.aborted) return save(entry, () => delivery.release(entry))
    await save(entry, await delivery.attempt(entry))
  }

  /** Tries for a while: an entry that was delivered and stays in the outbox would be delivered twice. */
  async function save({ id }: Entry, outcome: Outcome): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await outcome()
      } catch (error) {
        if (tries < SAVE_TRIES && !stopping.signal.aborted) await pause(SAVE_PAUSE_MS)
        else return logger.warn({ err: error, outboxId: id }, 'the outcome of a delivery could not be saved; it may be delivered twice')
      }
    }
  }

  /** Ends early when the dispatcher stops. */
  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined)
  }

  /** Finds the entries of processes that crashed, and those whose retry is due. The random part keeps processes out of step. */
  function pollLater(): void {
    pollTimer = setTimeout(
      () => {
        void runOnce()
        pollLater()
      },
      POLL_MS * (0.75 + random() / 2),
    ).unref()
  }

  return {
    wake() {
      if (!isStarted || wakeTimer !== undefined) return
      wakeTimer = setTimeout(
        () => {
          wakeTimer = undefined
          void runOnce()
        },
        WAKE_DELAY_MS * (0.5 + random()),
      ).unref()
    },
    start() {
      isStarted = true
      void runOnce()
      pollLater()
    },
    async stop() {
      clearTimeout(pollTimer)
      clearTimeout(wakeTimer)
      stopping.abort()
      bell.resolve()
      const finished = current ?? Promise.resolve()
      await Promise.race([finished, sleep(stopDeadlineMs, undefined, { ref: false })])
      await delivery.close()
      await finished
    },
    drain: runOnce,
  }
}
