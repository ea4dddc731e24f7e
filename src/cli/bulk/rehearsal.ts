import type { Database } from '../../storage/database.ts'

export const DRY_RUN_OPTION = ['--dry-run', 'check everything and say what would be done, without doing it'] as const

class Rehearsed<Result> extends Error {
  readonly result: Result | undefined

  constructor(result?: Result) {
    super('rolled back after a rehearsal')
    this.result = result
  }
}

/**
 * Runs work with all its rules in a transaction, rolls the transaction back, and returns the result.
 * A large deletion calls `stop` after its first step, which has checked the rules: the rest would only hold locks.
 */
export async function rehearse<Result>(
  db: Database,
  work: (rehearsed: Database, stop: () => never) => Promise<Result>,
): Promise<Result | undefined> {
  const stop = () => {
    throw new Rehearsed()
  }
  try {
    return await db.transaction(
      async (tx) => {
        const result = await work({ ...tx, lists: tx, transaction: (inner) => inner(tx), close: async () => undefined }, stop)
        throw new Rehearsed(result)
      },
      { isLong: true },
    )
  } catch (error) {
    // The cast is safe: this error comes from the lines above, with the result of this work.
    if (error instanceof Rehearsed) return error.result as Result | undefined
    throw error
  }
}
