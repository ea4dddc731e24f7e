import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { type Config, ConfigFaults, loadConfig } from './config.ts'
import { startService } from './start.ts'

/** The settings of this process: the environment, and below it a .env file in the working folder. */
export function readSettings(): Config {
  return loadConfig({ ...readDotEnv(), ...process.env })
}

function readDotEnv(): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync('.env', 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    throw new ConfigFaults([`.env: cannot be read: ${String(error)}`])
  }
}

/** Starts the service; what stops it from starting is told in a line each. */
export async function main(): Promise<void> {
  try {
    await startService(readSettings())
  } catch (error) {
    for (const line of explain(error)) process.stderr.write(`latchkey: ${line}\n`)
    process.exitCode = 1
  }
}

function explain(error: unknown): readonly string[] {
  if (error instanceof ConfigFaults) return error.faults
  return [error instanceof Error ? error.message : String(error)]
}

if (import.meta.main) await main()
