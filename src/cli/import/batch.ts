import type { ImportedUser } from '../../domain/import/imported-user.ts'

/**
 * One transaction each: half a second, so that other writes get through in time. Its users are spread over all pages of the indexes, and
 * SQLite writes each of those pages once per transaction.
 */
const BATCH_SIZE = 5000
/** Each updated account gets separate events, and each event is one statement. */
export const UPDATE_BATCH_SIZE = 200

/** Users that can be written by one statement: no two with the same address, or with a key in common. */
export function createBatch<Entry>(size = BATCH_SIZE) {
  let entries: Entry[] = []
  let names = new Set<string>()
  return {
    accepts: (user: ImportedUser) => entries.length < size && !namesOf(user).some((name) => names.has(name)),
    add(user: ImportedUser, entry: Entry): void {
      entries.push(entry)
      for (const name of namesOf(user)) names.add(name)
    },
    /** Returns the entries and what only one account can have of them, and empties the batch. */
    take(): { readonly entries: readonly Entry[]; readonly names: ReadonlySet<string> } {
      const taken = { entries, names }
      entries = []
      names = new Set()
      return taken
    },
  }
}

/** What only one account can have. */
export function namesOf({ emailKey, keys, passkeyList, identities }: ImportedUser): string[] {
  return [
    emailKey,
    ...keys.flatMap(({ id, keyHash, retiringSecrets }) => [id, keyHash, ...retiringSecrets.map((secret) => secret.keyHash)]),
    ...passkeyList.flatMap(({ id, credentialId }) => [id, credentialId]),
    ...identities.map(({ issuer, subject }) => `${issuer} ${subject}`),
  ]
}

/** Runs a number of writes at a time, and those with a name in common one after the other. */
export function createWriteQueue(parallel: number) {
  // A write that failed stays.
  const running = new Map<Promise<void>, ReadonlySet<string>>()
  const mustWait = (names: ReadonlySet<string>) =>
    running.size >= parallel || running.values().some((others) => !names.isDisjointFrom(others))
  return {
    /** Starts a write as soon as it may run. Throws what an earlier one threw. */
    async add(names: ReadonlySet<string>, write: () => Promise<void>): Promise<void> {
      while (mustWait(names)) await Promise.race(running.keys())
      const written = write().then(() => void running.delete(written))
      running.set(written, names)
      // Thrown by the next call.
      written.catch(() => undefined)
    },
    /** Waits for all writes, and throws what one of them threw. */
    async end(): Promise<void> {
      await Promise.allSettled(running.keys())
      await Promise.all(running.keys())
    },
  }
}
