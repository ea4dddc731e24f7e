import { Refusal } from '../model/refusal.ts'
import type { Database } from './database.ts'

/** The same database, with a word to whoever counts each time that it could not be used. */
export function observed(db: Database, onFault: () => void): Database {
  function note(error: unknown): void {
    if (error instanceof Refusal && error.code === 'unavailable') onFault()
  }

  // Looks on from the side: whoever asks waits for the database alone.
  function watched<Result>(work: Promise<Result>): Promise<Result> {
    work.catch(note)
    return work
  }

  return {
    first: (statement, ...values) => watched(db.first(statement, ...values)),
    all: (statement, ...values) => watched(db.all(statement, ...values)),
    run: (statement, ...values) => watched(db.run(statement, ...values)),
    transaction: (work, options) => watched(db.transaction(work, options)),
    close: () => db.close(),
  }
}
