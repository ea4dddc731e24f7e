import type { HotPath, Value } from '../database.ts'

/** Asks a statement, and gives its rows as lists of values. */
type AskValues = (sql: string, values: Value[]) => Promise<Iterable<readonly unknown[]>>

export type Gathering = <Row>(hot: HotPath<Row>, values: readonly Value[]) => Promise<Row | undefined>

type Question = {
  readonly values: readonly Value[]
  readonly resolve: (found: readonly unknown[] | undefined) => void
  readonly reject: (error: unknown) => void
}

// So few that nobody waits long for the others.
const MAX_QUESTIONS = 200

/**
 * To ask costs more, in the driver and on the way, than to find a row. What requests ask within one turn of the event loop goes out
 * at its end, in one statement: each answer is as fresh as if it had been asked for alone.
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
      // Who has an answer keeps it.
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

/** A list in the words of PostgreSQL. */
function listOf(items: readonly unknown[]): string {
  return `{${items.map((item) => `"${String(item).replace(/["\\]/g, String.raw`\$&`)}"`).join(',')}}`
}
