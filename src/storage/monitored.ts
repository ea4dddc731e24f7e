import { Abandoned, Refusal } from '../model/refusal.ts'
import type { Database } from './database.ts'

export type MonitoredDatabase = Database & {
  /** How often the database could not be used since it was opened. */
  errorCount(): number
}

/** Counts how often the database could not be used, by whichever part of the service. */
export function monitored(db: Database): MonitoredDatabase {
  let errors = 0

  function note(error: unknown): void {
    // Work that was given up because its client has disconnected is not an error of the database.
    if (error instanceof Refusal && error.code === 'unavailable' && !(error instanceof Abandoned)) errors++
  }

  // The caller gets the promise of the database itself, so that counting delays nothing.
  function watched<Result>(work: Promise<Result>): Promise<Result> {
    work.catch(note)
    return work
  }

  return {
    first: (statement, ...values) => watched(db.first(statement, ...values)),
    all: (statement, ...values) => watched(db.all(statement, ...values)),
    run: (statement, ...values) => watched(db.run(statement, ...values)),
    lists: {
      first: (statement, ...values) => watched(db.lists.first(statement, ...values)),
      all: (statement, ...values) => watched(db.lists.all(statement, ...values)),
    },
    transaction: (work, options) => watched(db.transaction(work, options)),
    errorCount: () => errors,
    close: () => db.close(),
  }
}
