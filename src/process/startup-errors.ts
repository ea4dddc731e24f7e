import { ConfigError } from '../config/load.ts'

/** A worker could not start, and has reported why. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed'
}

/** Explains to the operator why the process did not start: one line for each error, without a stack trace. */
export function explain(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.errors
  if (error instanceof WorkerFailed) return []
  const message = error instanceof Error ? error.message : String(error)
  return [message.replace(/\s*\n\s*/g, ' ')]
}
