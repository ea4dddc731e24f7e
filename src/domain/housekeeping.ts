import type { Database } from '../storage/database.ts'
import { deleteExpiredSessions } from '../storage/repositories/session.repository.ts'

export type Housekeeping = { start(): void; stop(): void; run(): Promise<void> }

const EVERY_MS = 60 * 60_000
const BATCH = 500

/** Removes what has run out and would otherwise be kept for ever. A failure is made good by the next round. */
export function createHousekeeping(db: Database, now: () => number, onFailure: (error: unknown) => void): Housekeeping {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  async function run(): Promise<void> {
    // In small steps, so that no other write waits long.
    while (!isStopped && (await deleteExpiredSessions(db, now(), BATCH)) === BATCH);
  }

  return {
    run,
    start() {
      const round = () => void run().catch(onFailure)
      round()
      timer = setInterval(round, EVERY_MS).unref()
    },
    stop() {
      isStopped = true
      clearInterval(timer)
    },
  }
}
