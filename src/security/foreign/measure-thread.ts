import { once } from 'node:events'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

/** Measures an amount of 1 of each family, in milliseconds of one core. */
export type MeasureFamilies = (families: readonly string[]) => Promise<ReadonlyMap<string, number>>

// The thread runs from the sources and from the built package, where file names end differently.
const WORKER_FILE = new URL(`./measure.worker${extname(import.meta.url)}`, import.meta.url)

/** Measures on a thread of its own: the service continues meanwhile, and its other work is not measured. */
export async function measureInThread(families: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const worker = new Worker(WORKER_FILE, { workerData: families, execArgv: [], name: 'latchkey-measure' })
  const exited = once(worker, 'exit').then(([code]) => Promise.reject(new Error(`the thread that measures ended with code ${code}`)))
  const [measured] = await Promise.race([once(worker, 'message'), exited])
  // The thread sends exactly this, once.
  return new Map(measured as [string, number][])
}
