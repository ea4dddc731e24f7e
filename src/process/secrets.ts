import { dirname, join } from 'node:path'
import type { Config } from '../config/load.ts'
import { parseSecretKey } from '../config/values.ts'
import type { Secrets } from '../security/derived-keys.ts'
import { formerSecretsFile, keptSecrets, MAX_FORMER_SECRETS, readKeptSecrets } from '../security/secret-key.ts'
import { explainSystemError } from '../shared/errors.ts'

/** The secrets of the settings or, with SQLite, those that are stored next to the database file. The first call creates one. */
export function secretsOf(config: Config): Secrets {
  const secrets = readSecrets(config, keptSecrets)
  if (secrets === undefined) throw new Error('SECRET_KEY: is required with PostgreSQL')
  return secrets
}

/** Like secretsOf(), but creates nothing: undefined if there is no secret yet. */
export function existingSecretsOf(config: Config): Secrets | undefined {
  return readSecrets(config, readKeptSecrets)
}

/** The file next to a SQLite database that stores the secret key, unless SECRET_KEY is set. */
export function secretKeyFile(database: Config['database']): string | undefined {
  return database.kind === 'sqlite' ? join(dirname(database.file), 'secret.key') : undefined
}

function readSecrets(config: Config, readKept: (file: string) => Secrets | undefined): Secrets | undefined {
  const { database, secretKey, secretKeyFallbacks } = config
  if (secretKey !== undefined) return [secretKey, ...secretKeyFallbacks]
  const file = secretKeyFile(database)
  if (file === undefined) return undefined
  try {
    const secrets = readKept(file)
    if (secrets !== undefined) requireStrong(formerSecretsFile(file), secrets)
    return secrets
  } catch (error) {
    throw new Error(`SECRET_KEY: ${explainSystemError(error)}`, { cause: error })
  }
}

/** Former secrets in a file follow the rules of SECRET_KEY_FALLBACKS. */
function requireStrong(file: string, [, ...formers]: Secrets): void {
  if (formers.length > MAX_FORMER_SECRETS)
    throw new Error(`${file} should have at most ${MAX_FORMER_SECRETS} secrets, one per line, has ${formers.length}`)
  for (const [index, secret] of formers.entries()) {
    const parsed = parseSecretKey(new TextDecoder().decode(secret))
    if ('error' in parsed) throw new Error(`secret ${index + 1} of ${file} ${parsed.error.split(';')[0]}; remove its line`)
  }
}
