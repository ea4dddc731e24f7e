import { loadConfig } from './config.ts'
import { withDotEnv } from './environment.ts'
import { explain } from './explain.ts'
import { startService } from './start.ts'

/** Starts the service; what stops it from starting is told in a line each. */
export async function main(): Promise<void> {
  try {
    await startService(loadConfig(withDotEnv(process.env)))
  } catch (error) {
    for (const line of explain(error)) process.stderr.write(`latchkey: ${line}\n`)
    process.exitCode = 1
  }
}

if (import.meta.main) await main()
