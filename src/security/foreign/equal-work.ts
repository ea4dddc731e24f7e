import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ForeignHash, HashCost } from './foreign-hash.ts'
import { estimatedUnitMs, kindOf, parseForeignHash, parseKind, spend } from './kinds.ts'
import { boundedWork, isCovered, type LoginWork, OWN_FAMILY } from './login-work.ts'

/**
 * Prepares the comparison of a foreign hash, or of none, which does the same work in either case: for each family of which an account has a
 * hash, the highest amount that any account has. The time of a login therefore does not show whose hash was compared. A hash that is too
 * expensive on this machine matches no password: its owner resets it by mail, and all other logins stay fast.
 */
export function createEqualWork(measure?: MeasureFamilies | undefined) {
  const workOf = createMeasuredWork(measure)
  return async (hash: string | undefined, kinds: readonly string[]): Promise<(password: string) => Promise<boolean>> => {
    // A hash that cannot be read matches no password, like the mark of an account without one.
    const foreign = hash === undefined ? undefined : await attempt(async () => parseForeignHash(hash))
    const work = await workOf(foreign === undefined ? kinds : [...kinds, kindOf(foreign.cost)])
    const compared = foreign !== undefined && isCovered(work, foreign.cost) ? foreign : undefined
    return async (password) => {
      const { isMatch, spent } = await compare(password, compared)
      for (const cost of remainingWork(spent, work)) await attempt(() => spend(password, cost))
      return isMatch
    }
  }
}

/** Also returns the work that the comparison has spent: none if a library refuses the hash. */
export async function compare(password: string, foreign: ForeignHash | undefined) {
  const isMatch = foreign && (await attempt(() => foreign.matches(password)))
  return { isMatch: isMatch === true, spent: isMatch === undefined ? undefined : foreign?.cost }
}

/** A hash or a cost in the database that a library refuses must not make a login fail, least of all the logins of other accounts. */
async function attempt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work()
  } catch {
    return undefined
  }
}

/** The work that is left after one hash, so that every comparison costs the same in total. */
export function remainingWork(spent: HashCost | undefined, work: LoginWork): HashCost[] {
  const amounts = [...work].map(([family, highest]) => ({ family, amount: highest - (spent?.family === family ? spent.amount : 0) }))
  return amounts.filter(({ amount }) => amount > 0)
}

/**
 * Returns the function that says what a login computes while accounts have hashes of these kinds. The first login that meets a family, or
 * the start of the service, waits until it is measured, for some tenths of a second. It may have been imported on a faster machine, or by a
 * release without this bound.
 */
export function createMeasuredWork(measure: MeasureFamilies = measureInThread): (kinds: readonly string[]) => Promise<LoginWork> {
  const measured = new Map<string, number>()
  let measuring: Promise<void> = Promise.resolve()

  async function learn(families: readonly string[]): Promise<void> {
    const unknown = families.filter((family) => !measured.has(family))
    if (unknown.length === 0) return
    // A machine without memory for another thread must not refuse all logins.
    const found = await measure(unknown).catch(() => new Map<string, number>())
    for (const family of unknown) measured.set(family, found.get(family) ?? estimatedUnitMs(family))
  }

  return async (kinds) => {
    const possible = boundedWork(kinds, () => 0)
    if (possible.size === 0) return possible
    const families = [...possible.keys(), OWN_FAMILY]
    if (families.some((family) => !measured.has(family))) {
      measuring = measuring.then(() => learn(families))
      await measuring
    }
    return boundedWork(
      kinds.filter((kind) => possible.has(parseKind(kind).family)),
      (family) => measured.get(family) ?? 0,
    )
  }
}

/** Measures an amount of 1 of each family, in milliseconds of one core. */
export type MeasureFamilies = (families: readonly string[]) => Promise<ReadonlyMap<string, number>>

// The thread runs from the sources and from the built package, where file names end differently.
const WORKER_FILE = new URL(`./measure.worker${extname(import.meta.url)}`, import.meta.url)

/** Measures on a separate thread, so that the service continues meanwhile and its other work is not measured. */
export async function measureInThread(families: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const worker = new Worker(WORKER_FILE, { workerData: families, execArgv: [], name: 'latchkey-measure' })
  const exited = once(worker, 'exit').then(([code]) => Promise.reject(new Error(`the thread that measures ended with code ${code}`)))
  const [measured] = await Promise.race([once(worker, 'message'), exited])
  // The thread sends exactly this, once.
  return new Map(measured as [string, number][])
}
