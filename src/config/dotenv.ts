import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { codeOf } from '../shared/system-errors.ts'
import { ConfigError, type Environment } from './load.ts'

/** Adds the settings of the .env file in the working folder to the environment. The environment takes precedence. */
export function withDotEnv(env: Environment, file = '.env'): Environment {
  return { ...readDotEnv(file), ...env }
}

function readDotEnv(file: string): Environment {
  try {
    return parseEnv(readFileSync(file, 'utf8'))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {}
    throw new ConfigError([`${file}: cannot be read (${codeOf(error)})`])
  }
}
