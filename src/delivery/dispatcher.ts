import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createClaims, createDeliveries, type Delivery, RENEWAL_MS } from './delivery.ts'

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
  const stopping = new AbortController()
  const claim = createClaims((options) => delivery.claim(options), { now, logger })
  const { inProgress, launch } = createDeliveries(delivery, { now, logger, renewalMs, stopping: stopping.signal })
  const timers = createTimers(() => void runOnce(), random)
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
        await Promise.race([...inProgress, bell.promise])
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

  function runOnce(): Promise<void> {
    isWoken = true
    bell.resolve()
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

/** When a dispatcher looks into its outbox. The random part keeps processes out of step. */
function createTimers(look: () => void, random: () => number) {
  let pollTimer: NodeJS.Timeout | undefined
  let wakeTimer: NodeJS.Timeout | undefined

  /** Finds the entries of processes that crashed, and those whose retry is due. */
  function poll(): void {
    pollTimer = setTimeout(
      () => {
        look()
        poll()
      },
      POLL_MS * (0.75 + random() / 2),
    ).unref()
  }

  return {
    poll,
    /** Does nothing if it looks soon anyway. */
    wakeSoon() {
      wakeTimer ??= setTimeout(
        () => {
          wakeTimer = undefined
          look()
        },
        WAKE_DELAY_MS * (0.5 + random()),
      ).unref()
    },
    clear() {
      clearTimeout(pollTimer)
      clearTimeout(wakeTimer)
    },
  }
}
