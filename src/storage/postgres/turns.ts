/** Runs work for one account after the work that was added for it before. Work for other accounts is not delayed. */
export type Turns = <Result>(accountId: number, work: () => Promise<Result>) => Promise<Result>

/**
 * Changes to one account wait for each other's row lock. Waiting here rather than in PostgreSQL keeps them from occupying every
 * connection: a flood of changes to one account would otherwise delay the writes of all others.
 */
export function createTurns(): Turns {
  const lastByAccount = new Map<number, Promise<unknown>>()

  return async (accountId, work) => {
    const previous = lastByAccount.get(accountId)
    const done = Promise.withResolvers<void>()
    lastByAccount.set(accountId, done.promise)
    await previous
    try {
      return await work()
    } finally {
      done.resolve()
      if (lastByAccount.get(accountId) === done.promise) lastByAccount.delete(accountId)
    }
  }
}
