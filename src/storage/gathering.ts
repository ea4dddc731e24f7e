import type { HotPath, Statement, Value } from './database.ts'

export type LookUp = {
  readonly statement: Statement<unknown>
  readonly hot: HotPath<unknown>
  readonly values: Value[]
  /** Resolves the look-up with its row, or with undefined where there is none. Later calls have no effect. */
  readonly settle: (found?: readonly unknown[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Answers the look-ups of one turn of the event loop together: at its end, or as soon as there are `max`. It asks the database after all of
 * them were requested, so each result is as fresh as that of a look-up alone. `answerAll` answers those that wait, before work that takes long.
 */
export function createGathering(answer: (lookUps: readonly LookUp[]) => void, max = Number.POSITIVE_INFINITY) {
  let waiting: LookUp[] = []

  function answerAll(): void {
    const lookUps = waiting
    waiting = []
    if (lookUps.length > 0) answer(lookUps)
  }

  function lookUp<Row>(statement: Statement<Row>, hot: HotPath<Row>, values: Value[]): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      function settle(found?: readonly unknown[]): void {
        // A row that cannot be read fails its own look-up, not the others.
        try {
          resolve(found && hot.read(found))
        } catch (error) {
          reject(error)
        }
      }
      if (waiting.length === 0) setImmediate(answerAll)
      waiting.push({ statement, hot, values, settle, reject })
      if (waiting.length === max) answerAll()
    })
  }

  return { lookUp, answerAll }
}
