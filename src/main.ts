import { loadConfig, withDotEnv } from './config/load.ts'
import { isStartedByNpm } from './process/lifecycle/signals.ts'
import { startService } from './process/start.ts'
import { explain } from './process/startup-errors.ts'
import { printable } from './shared/text.ts'

/** Starts the service. Each error that prevents it is one line on stderr. */
export async function main(): Promise<void> {
  try {
    await startService(loadConfig(withDotEnv(process.env)), { isByNpm: isStartedByNpm(process.env) })
  } catch (error) {
    for (const line of explain(error)) process.stderr.write(`latchkey: ${printable(line)}\n`)
    process.exitCode = 1
  }
}

if (import.meta.main) await main()
