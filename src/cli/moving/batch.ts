import type { ImportedUser } from '../../domain/moving/imported-user.ts'

/** One transaction each: small enough to let other writes through, large enough to cost little by itself. */
const BATCH_SIZE = 2000
/** Each updated account gets separate events, and each event is one statement. */
export const UPDATE_BATCH_SIZE = 200

export type Batch<Entry> = {
  accepts(user: ImportedUser): boolean
  add(user: ImportedUser, entry: Entry): void
  /** Returns the entries and empties the batch. */
  take(): readonly Entry[]
}

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
      const taken = entries
      entries = []
      names = new Set()
      return taken
    },
  }
}

/** What only one account can have. */
export function namesOf({ emailKey, keys }: ImportedUser): string[] {
  return [emailKey, ...keys.flatMap(({ id, keyHash }) => [id, keyHash])]
}
