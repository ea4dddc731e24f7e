import { ConfigError } from '../config/load.ts'
import { WorkerFailed } from './lifecycle/supervisor.ts'

/** What stopped a process from starting, for the person who started it: one line for each error, and no stack. */
export function explain(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.errors
  // The worker has said it already.
  if (error instanceof WorkerFailed) return []
  const message = error instanceof Error ? error.message : String(error)
  return [message.replace(/\s*\n\s*/g, ' ')]
}
