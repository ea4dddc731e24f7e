import { ConfigFaults } from './config.ts'

/** What stopped a process from starting, for the person who started it: one line for each fault, and no stack. */
export function explain(error: unknown): readonly string[] {
  if (error instanceof ConfigFaults) return error.faults
  const message = error instanceof Error ? error.message : String(error)
  return [message.replace(/\s*\n\s*/g, ' ')]
}
