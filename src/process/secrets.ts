import { dirname, join } from 'node:path'
import type { Config } from '../config/load.ts'
import type { Secrets } from '../security/derived-keys.ts'
import { keptSecretKey } from '../security/secret-key.ts'
import { explainSystemError } from '../shared/system-errors.ts'

/** The secrets of the settings or, with SQLite, those that are stored next to the database file. */
export function secretsOf({ database, secretKey, secretKeyFallbacks }: Config): Secrets {
  if (secretKey !== undefined) return [secretKey, ...secretKeyFallbacks]
  const file = secretKeyFile(database)
  if (file === undefined) throw new Error('SECRET_KEY: is required with PostgreSQL')
  try {
    return [keptSecretKey(file)]
  } catch (error) {
    throw new Error(`SECRET_KEY: ${explainSystemError(error)}`, { cause: error })
  }
}

/** The file next to a SQLite database that stores the secret key, unless SECRET_KEY is set. */
export function secretKeyFile(database: Config['database']): string | undefined {
  return database.kind === 'sqlite' ? join(dirname(database.file), 'secret.key') : undefined
}
