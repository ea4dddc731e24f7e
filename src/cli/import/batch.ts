import type { ImportedUser } from '../../domain/import/imported-user.ts'

/**
 * One transaction each: half a second, so that other writes get through in time. Its users are spread over all pages of the indexes, and
 * SQLite writes each of those pages once per transaction.
 */
const BATCH_SIZE = 5000
/** Each updated account gets separate events, and each event is one statement. */
export const UPDATE_BATCH_SIZE = 200

export type Batch<Entry> = {
  accepts(user: ImportedUser): boolean
  add(user: ImportedUser, entry: Entry): void
  /** Returns the entries and what only one account can have of them, and empties the batch. */
  take(): Taken<Entry>
}

export type Taken<Entry> = { readonly entries: readonly Entry[]; readonly names: ReadonlySet<string> }

/** Users that can be written by one statement: no two with the same address, or with a key in common. */
export function createBatch<Entry>(size = BATCH_SIZE): Batch<Entry> {
  let entries: Entry[] = []
  let names = new Set<string>()
  return {
    accepts: (user) => entries.length < size && !namesOf(user).some((name) => names.has(name)),
    add(user, entry) {
      entries.push(entry)
      for (const name of namesOf(user)) names.add(name)
    },
    take() {
      const taken = { entries, names }
      entries = []
      names = new Set()
      return taken
    },
  }
}

/** What only one account can have. */
export function namesOf({ emailKey, keys }: ImportedUser): string[] {
  return [
    emailKey,
    ...keys.flatMap(({ id, keyHash, retiringSecrets }) => [id, keyHash, ...retiringSecrets.map((secret) => secret.keyHash)]),
  ]
}

export type WriteQueue = {
  /** Starts a write as soon as it may run. Throws what an earlier one threw. */
  add(names: ReadonlySet<string>, write: () => Promise<void>): Promise<void>
  /** Waits for all writes, and throws what one of them threw. */
  end(): Promise<void>
}

/** Runs a number of writes at a time, and those with a name in common one after the other. */
export function createWriteQueue(parallel: number): WriteQueue {
  // A write that failed stays.
  const running = new Map<Promise<void>, ReadonlySet<string>>()
  const mustWait = (names: ReadonlySet<string>) =>
    running.size >= parallel || running.values().some((others) => !names.isDisjointFrom(others))
  return {
    async add(names, write) {
      while (mustWait(names)) await Promise.race(running.keys())
      const written = write().then(() => void running.delete(written))
      running.set(written, names)
      // Thrown by the next call.
      written.catch(() => undefined)
    },
    async end() {
      await Promise.allSettled(running.keys())
      await Promise.all(running.keys())
    },
  }
}
