import { randomUUID } from 'node:crypto'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { ClaimedMail } from '../model/mail.ts'
import { claimMails } from '../storage/repositories/outbox.repository.ts'
import { createDelivery, type DeliveryParts, type Outcome } from './delivery.ts'

export type Dispatcher = {
  /** Mail was put into the outbox. Returns at once; does nothing before the start. */
  wake(): void
  start(): void
  /** Takes up nothing new, finishes what is under way, ends what does not finish in time and lets go of it. */
  stop(): Promise<void>
  /** Sends until nothing is due. */
  drain(): Promise<void>
}

export type DispatcherParts = Omit<DeliveryParts, 'random'> & {
  readonly random?: () => number
  readonly concurrency?: number
  readonly stopDeadlineMs?: number
}

const CONCURRENCY = 4
// Longer than a check and a sending can take with all their time-outs, and what follows them.
const LEASE_MS = 60_000
// The answer to the request goes out before any of the work begins, which is more for an address that has an account than for one
// that has none; and mails that come together are claimed together.
const WAKE_DELAY_MS = 50
const POLL_MS = 3_000
const STOP_DEADLINE_MS = 5_000
const RECORD_TRIES = 8
const RECORD_PAUSE_MS = 1_000

/** Takes mail out of the outbox and sends it. Any number of processes may do so on one database. */
export function createDispatcher({
  random = Math.random,
  concurrency = CONCURRENCY,
  stopDeadlineMs = STOP_DEADLINE_MS,
  ...parts
}: DispatcherParts): Dispatcher {
  const { db, transport, now, logger } = parts
  const delivery = createDelivery({ ...parts, random })
  const inFlight = new Set<Promise<void>>()
  const stopping = new AbortController()
  let current: Promise<void> | undefined
  let bell = Promise.withResolvers<void>()
  let isWoken = false
  let isStarted = false
  let isDatabaseAway = false
  let pollTimer: NodeJS.Timeout | undefined
  let wakeTimer: NodeJS.Timeout | undefined

  async function run(): Promise<void> {
    try {
      while (!stopping.signal.aborted) {
        isWoken = false
        bell = Promise.withResolvers()
        await sweep()
        for (const mail of await claim(concurrency - inFlight.size)) launch(mail)
        if (isWoken) continue
        if (inFlight.size === 0) return
        await Promise.race([...inFlight, bell.promise])
      }
      await Promise.all(inFlight)
    } finally {
      current = undefined
    }
  }

  /** With SQLite, a round may wait for nothing but itself: the event loop turns first, so that requests come in between. */
  async function sweep(): Promise<void> {
    do await turn()
    while (!stopping.signal.aborted && (await delivery.sweep()))
  }

  function runOnce(): Promise<void> {
    isWoken = true
    bell.resolve()
    if (stopping.signal.aborted) return Promise.resolve()
    current ??= run()
    return current
  }

  /** The database away is no fault of the mail: it waits there. */
  async function claim(limit: number): Promise<ClaimedMail[]> {
    if (limit === 0) return []
    try {
      const mails = await claimMails(db, { lease: randomUUID(), leaseEndsAt: now() + LEASE_MS, now: now(), limit })
      isDatabaseAway = false
      return mails
    } catch (error) {
      if (!isDatabaseAway) logger.warn({ err: error }, 'the outbox cannot be read at present; mail waits')
      isDatabaseAway = true
      return []
    }
  }

  function launch(mail: ClaimedMail): void {
    const delivered = deliver(mail).finally(() => inFlight.delete(delivered))
    inFlight.add(delivered)
  }

  async function deliver(mail: ClaimedMail): Promise<void> {
    if (stopping.signal.aborted) return record(mail, () => delivery.release(mail))
    await record(mail, await delivery.attempt(mail))
  }

  /** A mail that was sent and cannot be crossed out would be sent twice: that is worth some patience. */
  async function record({ id }: ClaimedMail, outcome: Outcome): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await outcome()
      } catch (error) {
        if (tries < RECORD_TRIES && !stopping.signal.aborted) await pause(RECORD_PAUSE_MS)
        else return logger.warn({ err: error, outboxId: id }, 'what became of a mail could not be recorded; it may be sent twice')
      }
    }
  }

  /** Ends early when the dispatcher stops. */
  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined)
  }

  /** For mail that other processes left behind, and for what is due again. The random part keeps processes out of step. */
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
      await transport.close()
      await finished
    },
    drain: runOnce,
  }
}
