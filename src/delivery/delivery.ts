import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Claim } from '../storage/leased-rows.ts'
import { LEASE_MS, whileLeased } from './leases.ts'

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

/** The entries that are being delivered. */
export type Deliveries<Entry> = {
  /** One promise for each. They never reject. */
  readonly inProgress: ReadonlySet<Promise<void>>
  launch(entry: Entry): void
}

export type DeliveriesOptions = {
  readonly now: () => number
  readonly logger: Pick<Logger, 'warn'>
  readonly renewalMs: number
  /** Entries that were claimed and not tried are released after the abort. */
  readonly stopping: AbortSignal
}

const SAVE_TRIES = 8
const SAVE_PAUSE_MS = 1_000

export function createDeliveries<Entry extends { readonly id: number }>(
  delivery: Pick<Delivery<Entry>, 'renew' | 'release' | 'attempt'>,
  { now, logger, renewalMs, stopping }: DeliveriesOptions,
): Deliveries<Entry> {
  const inProgress = new Set<Promise<void>>()

  async function deliver(entry: Entry): Promise<void> {
    if (stopping.aborted) return save(entry, () => delivery.release(entry))
    await save(entry, await delivery.attempt(entry))
  }

  /** Tries for a while: an entry that was delivered and stays in the outbox would be delivered twice. */
  async function save({ id }: Entry, outcome: Outcome): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await outcome()
      } catch (error) {
        if (tries < SAVE_TRIES && !stopping.aborted) await pause(SAVE_PAUSE_MS)
        else return logger.warn({ err: error, outboxId: id }, 'the outcome of a delivery could not be saved; it may be delivered twice')
      }
    }
  }

  /** Ends early when the dispatcher stops. */
  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: stopping }).catch(() => undefined)
  }

  return {
    inProgress,
    launch(entry) {
      const renew = () => delivery.renew(entry, now() + LEASE_MS)
      const delivered = whileLeased(renew, renewalMs, () => deliver(entry)).finally(() => inProgress.delete(delivered))
      inProgress.add(delivered)
    },
  }
}
