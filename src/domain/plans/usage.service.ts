import type { KeyCredential } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { type DailyUse, dayOf, type KeyUsage } from '../../model/usage.ts'
import type { Database } from '../../storage/database.ts'
import { findKeySeq } from '../../storage/repositories/keys/key.repository.ts'
import { addUsage, listBusiestKeys, listUsageOfKey, listUsageOfUser } from '../../storage/repositories/plans/usage.repository.ts'
import { findUserById } from '../../storage/repositories/users/user.repository.ts'
import type { DomainParts } from '../changes/changes.ts'

/** Use is kept for this many days, today included. */
export const USAGE_DAYS = 400

// With the time that a write may wait for the database, less than the minute by which use may be behind.
const FLUSH_DELAY_MS = 20_000
// On SQLite, which writes on this thread, a batch of this size takes a few milliseconds.
const BATCH_SIZE = 500

export type KeyUse = ReturnType<typeof createKeyUseCounts>

type Counted = { -readonly [Name in keyof KeyUsage]: KeyUsage[Name] }

/** Counts the use of keys in memory, and writes it in batches outside of any request. */
export function createKeyUseCounts(db: Database, now: () => number) {
  let pending = new Map<string, Counted>()
  let timer: NodeJS.Timeout | undefined

  function schedule(): void {
    // The next attempt writes what is left, and requests that need the database report an outage.
    timer ??= setTimeout(() => void flush().catch(() => undefined), FLUSH_DELAY_MS).unref()
  }

  function add({ day, userId, keySeq, allowed, limited }: KeyUsage): void {
    const id = `${keySeq} ${day}`
    const known = pending.get(id)
    if (known === undefined) {
      pending.set(id, { day, userId, keySeq, allowed, limited })
      schedule()
    } else {
      known.allowed += allowed
      known.limited += limited
    }
  }

  async function write(rows: readonly KeyUsage[]): Promise<void> {
    let isSent = false
    try {
      await db.transaction((tx) => addUsage(tx, rows), {
        onCommitSent: () => {
          isSent = true
        },
      })
    } catch (error) {
      // A commit whose answer was lost may have been made: nothing is counted twice.
      if (!isSent) rows.forEach(add)
      throw error
    }
  }

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const rows = [...pending.values()]
    pending = new Map()
    for (let start = 0; start < rows.length; start += BATCH_SIZE) {
      try {
        await write(rows.slice(start, start + BATCH_SIZE))
      } catch (error) {
        rows.slice(start + BATCH_SIZE).forEach(add)
        throw error
      }
    }
  }

  return {
    /** Counts a request of a key that has passed, or that a limit has refused. */
    note: ({ seq: keySeq }: Pick<KeyCredential, 'seq'>, userId: number, outcome: 'allowed' | 'limited', cost: number): void =>
      add({ day: dayOf(now()), userId, keySeq, allowed: 0, limited: 0, [outcome]: cost }),
    /** Writes the counts to the database. If this fails, it is tried again later. */
    flush,
  }
}

export type Usage = ReturnType<typeof createUsage>

/** What keys have used, day by day. Days without use are included, and the oldest comes first. */
export function createUsage({ reads, lists, now }: Pick<DomainParts, 'reads' | 'lists' | 'now'>) {
  function lastDays(days: number): { readonly from: number; readonly to: number } {
    const to = dayOf(now())
    return { from: to - days + 1, to }
  }

  async function requireUser(userId: number): Promise<void> {
    if ((await findUserById(reads, userId)) === undefined) throw new Refusal('user_not_found')
  }

  return {
    async ofKey(userId: number, keyId: string, days: number): Promise<DailyUse[]> {
      const seq = await findKeySeq(reads, userId, keyId)
      if (seq !== undefined) return listUsageOfKey(lists, lastDays(days), userId, seq)
      await requireUser(userId)
      throw new Refusal('key_not_found')
    },
    /** The use of all keys of an account, also of those that were deleted since. */
    async ofUser(userId: number, days: number): Promise<DailyUse[]> {
      await requireUser(userId)
      return listUsageOfUser(lists, lastDays(days), userId)
    },
    /** The keys that were used most in the last days. */
    busiest: (days: number, size: number) => listBusiestKeys(lists, lastDays(days).from, size),
  }
}

/** The days whose use may be stored, for a look-up of each: one more than are kept, because old ones are deleted every ten minutes. */
export function storedDays(now: number): number[] {
  const today = dayOf(now)
  // A clock may have been ahead by a day.
  return Array.from({ length: USAGE_DAYS + 3 }, (_, index) => today + 1 - index)
}
