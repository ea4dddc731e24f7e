import { text as readAll } from 'node:stream/consumers'
import type { Database } from '../../storage/database.ts'
import { createPrinter, type Format, onePage } from '../terminal/output.ts'
import { createProgress } from '../terminal/progress.ts'
import { explainRefusal, InvalidInput } from '../terminal/refusals.ts'

export const DRY_RUN_OPTION = ['--dry-run', 'check and show what would be changed, and change nothing'] as const

export type BulkOptions = { readonly json?: true; readonly dryRun?: true }

/** Some of the many could not be done; each has been told in a line of its own. */
export class SomeFailed extends Error {
  override readonly name = 'SomeFailed'
}

export type BulkWork<Item> = {
  readonly label: string
  readonly format: Format<Item>
  /** Does it for one, and gives it as it is now. */
  apply(db: Database, reference: string): Promise<Item>
}

/** What was named on the command line, each once; `-` stands for the lines of standard input. */
export async function readReferences(given: readonly string[]): Promise<string[]> {
  if (!given.includes('-')) return [...new Set(given)]
  if (given.length > 1) throw new InvalidInput(['-: reads everything from standard input; name nothing else beside it'])
  const lines = (await readAll(process.stdin)).split(/\r?\n/).map((line) => line.trim())
  return [...new Set(lines.filter((line) => line !== '' && !line.startsWith('#')))]
}

/** Does the same for one or for many. One is shown by itself and refused by itself; many go on past those that fail. */
export async function runBulk<Item>(db: Database, given: readonly string[], options: BulkOptions, work: BulkWork<Item>): Promise<void> {
  const references = await readReferences(given)
  const apply = (reference: string) =>
    options.dryRun ? rehearse(db, (rehearsed) => work.apply(rehearsed, reference)) : work.apply(db, reference)
  const printer = createPrinter(work.format, options.json === true)
  const [only] = references
  if (given.length === 1 && given[0] !== '-' && only !== undefined) return printer.one(await apply(only))
  const failures = { count: 0 }
  await printer.list(eachOf(references, apply, work.label, failures))
  if (failures.count === 0) return
  process.stderr.write(`latchkey: ${failures.count} of ${references.length} failed\n`)
  throw new SomeFailed()
}

const PAGE_SIZE = 100

async function* eachOf<Item>(
  references: readonly string[],
  apply: (reference: string) => Promise<Item>,
  label: string,
  failures: { count: number },
): AsyncIterable<readonly Item[]> {
  const progress = createProgress(label)
  let page: Item[] = []
  for (const [index, reference] of references.entries()) {
    try {
      page.push(await apply(reference))
    } catch (error) {
      failures.count++
      progress.clear()
      for (const line of explainRefusal(error)) process.stderr.write(`latchkey: ${shown(reference)}: ${line}\n`)
    }
    progress.update(index + 1, references.length)
    if (page.length < PAGE_SIZE) continue
    progress.clear()
    yield page
    page = []
  }
  progress.clear()
  if (page.length > 0) yield* onePage(page)
}

const SHOWN_LENGTH = 100

/** What was read may be anything: a terminal must not obey it, and a page of it helps nobody. */
function shown(reference: string): string {
  const harmless = reference.replace(/\p{C}/gu, '\ufffd')
  return harmless.length > SHOWN_LENGTH ? `${harmless.slice(0, SHOWN_LENGTH)}…` : harmless
}

class Rehearsed<Result> extends Error {
  readonly result: Result

  constructor(result: Result) {
    super('this was a rehearsal')
    this.result = result
  }
}

/** Does the work with all its rules in a transaction that is undone at the end. */
async function rehearse<Result>(db: Database, work: (rehearsed: Database) => Promise<Result>): Promise<Result> {
  try {
    return await db.transaction(async (tx) => {
      const result = await work({ ...tx, transaction: (inner) => inner(tx), close: async () => undefined })
      throw new Rehearsed(result)
    })
  } catch (error) {
    // Thrown a few lines above, with the result of this very work.
    if (error instanceof Rehearsed) return error.result as Result
    throw error
  }
}
