import { randomUUID } from 'node:crypto'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Claim } from '../storage/leased-rows.ts'

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
  /** Removes or puts aside a batch of entries that need no attempt now. Called before each claim. True when there may be more. */
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
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>
  readonly random?: () => number
  readonly concurrency?: number
  readonly stopDeadlineMs?: number
  readonly renewalMs?: number
}

const CONCURRENCY = 4
// The response to the request goes out before the work begins, which takes longer for an address with an account than for one without;
// and entries that are queued together are claimed together.
const WAKE_DELAY_MS = 50
const POLL_MS = 3_000
const STOP_DEADLINE_MS = 5_000
/** After a crash an entry waits for the end of its lease and for the next poll: 16 seconds at most. */
export const LEASE_MS = 12_000
// Two renewals in a row may fail without loss: the third comes before the lease ends.
const RENEWAL_MS = 3_000
const SAVE_TRIES = 8
const SAVE_PAUSE_MS = 1_000

/** Takes entries from an outbox and delivers them. Any number of processes may do so on one database. */
export function createDispatcher<Entry extends { readonly id: number }>(
  delivery: Delivery<Entry>,
  { random = Math.random, concurrency = CONCURRENCY, stopDeadlineMs = STOP_DEADLINE_MS, ...options }: DispatcherOptions,
): Dispatcher {
  const stopping = new AbortController()
  const claim = createClaims((claimed) => delivery.claim(claimed), options)
  const timers = createTimers(() => void runOnce(), random)
  /** One promise for each entry that is being delivered. They never reject. */
  const inProgress = new Set<Promise<void>>()
  let current: Promise<void> | undefined
  let bell = Promise.withResolvers<void>()
  let isWoken = false
  let isStarted = false

  async function run(): Promise<void> {
    try {
      while (!stopping.signal.aborted) {
        isWoken = false
        bell = Promise.withResolvers()
        await prune()
        for (const entry of await claim(concurrency - inProgress.size)) launch(entry)
        if (isWoken) continue
        if (inProgress.size === 0) return
        await bell.promise
      }
      await Promise.all(inProgress)
    } finally {
      current = undefined
    }
  }

  /** SQLite may answer without leaving the microtask queue: the event loop turns before each batch, so that requests are served in between. */
  async function prune(): Promise<void> {
    do await turn()
    while (!stopping.signal.aborted && (await delivery.prune()))
  }

  function launch(entry: Entry): void {
    const delivered = deliver(delivery, entry, stopping.signal, options).finally(() => {
      inProgress.delete(delivered)
      lookAgain()
    })
    inProgress.add(delivered)
  }

  /** After an entry was queued, and after each delivery: it may have made another entry due, also while entries are being claimed. */
  function lookAgain(): void {
    isWoken = true
    bell.resolve()
  }

  function runOnce(): Promise<void> {
    lookAgain()
    if (stopping.signal.aborted) return Promise.resolve()
    current ??= run()
    return current
  }

  return {
    wake() {
      if (isStarted) timers.wakeSoon()
    },
    start() {
      isStarted = true
      void runOnce()
      timers.poll()
    },
    async stop() {
      timers.clear()
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

/** Delivers an entry. Its lease is short, and renewed for as long as that takes. After `stopping`, an entry that was not tried is released. */
async function deliver<Entry extends { readonly id: number }>(
  delivery: Delivery<Entry>,
  entry: Entry,
  stopping: AbortSignal,
  { now, logger, renewalMs = RENEWAL_MS }: DispatcherOptions,
): Promise<void> {
  // A renewal that fails is repeated with the next one.
  const renewals = setInterval(() => void delivery.renew(entry, now() + LEASE_MS).catch(() => undefined), renewalMs).unref()
  try {
    const outcome = stopping.aborted ? () => delivery.release(entry) : await delivery.attempt(entry)
    // Tries for a while: an entry that was delivered and stays in the outbox would be delivered twice.
    for (let tries = 1; ; tries++) {
      try {
        return await outcome()
      } catch (error) {
        if (tries === SAVE_TRIES || stopping.aborted)
          return logger.warn({ err: error, outboxId: entry.id }, 'the outcome of a delivery could not be saved; it may be delivered twice')
        await sleep(SAVE_PAUSE_MS, undefined, { signal: stopping }).catch(() => undefined)
      }
    }
  } finally {
    clearInterval(renewals)
  }
}

/**
 * Returns the function that claims entries, at most as many as given. During an outage of the database there are none, and the outage is
 * reported once.
 */
function createClaims<Entry>(claim: (claim: Claim) => Promise<Entry[]>, { now, logger }: Pick<DispatcherOptions, 'now' | 'logger'>) {
  let isDatabaseAway = false
  let takesOverAt = Number.NEGATIVE_INFINITY

  return async (limit: number): Promise<Entry[]> => {
    if (limit === 0) return []
    try {
      const takesOver = !isDatabaseAway && now() >= takesOverAt
      const entries = await claim({ lease: randomUUID(), leaseEndsAt: now() + LEASE_MS, now: now(), limit, takesOver })
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
}

/** When a dispatcher looks into its outbox. The random part keeps processes out of step. */
function createTimers(look: () => void, random: () => number) {
  let pollTimer: NodeJS.Timeout | undefined
  let wakeTimer: NodeJS.Timeout | undefined

  return {
    /** Finds the entries of processes that crashed, and those whose retry is due. */
    poll: function poll(): void {
      const lookAndPoll = () => {
        look()
        poll()
      }
      pollTimer = setTimeout(lookAndPoll, POLL_MS * (0.75 + random() / 2)).unref()
    },
    /** Does nothing if it looks soon anyway. */
    wakeSoon() {
      const wake = () => {
        wakeTimer = undefined
        look()
      }
      wakeTimer ??= setTimeout(wake, WAKE_DELAY_MS * (0.5 + random())).unref()
    },
    clear() {
      clearTimeout(pollTimer)
      clearTimeout(wakeTimer)
    },
  }
}
