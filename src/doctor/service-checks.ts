import { within } from '../shared/within.ts'
import type { Finding } from './finding.ts'

type ServiceChecks = { readonly at: number; readonly findings: readonly Finding[] }

// A page waits this long for the first checks; a mail server that does not answer takes longer.
const WAIT_MS = 1500
const KEPT_MS = 5 * 60_000

/**
 * Runs the checks of `latchkey doctor` for the console: on demand, at most every five minutes, and without making a page wait. Returns the
 * last results; undefined while the first checks run.
 */
export function createServiceChecks(run: () => Promise<readonly Finding[]>, now: () => number): () => Promise<ServiceChecks | undefined> {
  let last: ServiceChecks | undefined
  let running: Promise<void> | undefined

  async function refresh(): Promise<void> {
    try {
      last = { at: now(), findings: await run() }
    } catch {
      // The next visit runs them again.
    } finally {
      running = undefined
    }
  }

  return async () => {
    if (last === undefined || now() - last.at > KEPT_MS) running ??= refresh()
    if (last === undefined && running) await within(WAIT_MS, running, undefined)
    return last
  }
}
