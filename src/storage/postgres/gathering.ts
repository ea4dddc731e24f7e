import type { HotPath, Value } from '../database.ts'

/** Runs a statement, and returns its rows as lists of values. */
type AskValues = (sql: string, values: Value[]) => Promise<Iterable<readonly unknown[]>>

export type Gathering = <Row>(hot: HotPath<Row>, values: readonly Value[]) => Promise<Row | undefined>

type Question = {
  readonly values: readonly Value[]
  readonly resolve: (found: readonly unknown[] | undefined) => void
  readonly reject: (error: unknown) => void
}

// Few enough that no look-up waits long for the others in its statement.
const MAX_QUESTIONS = 200

/**
 * Sending a statement costs more than finding a row. The look-ups of one turn of the event loop are sent at its end as one statement, which
 * runs after all of them were requested: each result is as fresh as that of a separate statement.
 */
export function createGathering(ask: AskValues): Gathering {
  const waiting = new Map<HotPath<unknown>, Question[]>()

  function send(): void {
    for (const [hot, questions] of waiting) {
      for (let start = 0; start < questions.length; start += MAX_QUESTIONS) {
        void answer(hot, questions.slice(start, start + MAX_QUESTIONS))
      }
    }
    waiting.clear()
  }

  async function answer({ gatheredSql, types }: HotPath<unknown>, questions: readonly Question[]): Promise<void> {
    try {
      const lists = types.map((_, place) => listOf(questions.map(({ values }) => values[place])))
      for (const row of await ask(gatheredSql, lists)) questions[Number(row.at(-1)) - 1]?.resolve(row)
      // Has no effect on promises that are resolved already.
      for (const { resolve } of questions) resolve(undefined)
    } catch (error) {
      for (const { reject } of questions) reject(error)
    }
  }

  return async (hot, values) => {
    const found = await new Promise<readonly unknown[] | undefined>((resolve, reject) => {
      if (waiting.size === 0) setImmediate(send)
      const questions = waiting.get(hot)
      if (questions) questions.push({ values, resolve, reject })
      else waiting.set(hot, [{ values, resolve, reject }])
    })
    return found && hot.read(found)
  }
}

/** An array in the syntax of PostgreSQL. */
function listOf(items: readonly unknown[]): string {
  return `{${items.map((item) => `"${String(item).replace(/["\\]/g, String.raw`\$&`)}"`).join(',')}}`
}
