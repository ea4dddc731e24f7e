import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { Config } from '../../config/load.ts'
import { parseSecretKey } from '../../config/values.ts'
import { publishedSigningKeys, signingKeyState } from '../../domain/identity/signing-keys.ts'
import { rotateKeptSecret } from '../../domain/operations/secret-use.ts'
import type { SigningKey } from '../../model/signing-key.ts'
import { existingSecretsOf, secretKeyFile } from '../../process/secrets.ts'
import { formerSecretsFile, generateSecretKey, generateWebhookSecret } from '../../security/secret-key.ts'
import { addCommand } from '../terminal/input.ts'
import { type Format, JSON_OPTION, type JsonOption, printList, printResult } from '../terminal/output.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { timeText } from '../terminal/views.ts'
import { OPERATOR, readConfig, withServices } from '../with-services.ts'

export function secretCommands(program: Command): void {
  const secret = addCommand(program, 'secret', 'generate and replace secrets')
  addCommand(secret, 'generate', 'print a new value for SECRET_KEY, or for WEBHOOK_SECRET')
    .option('--webhook', 'a value for WEBHOOK_SECRET')
    .option(...JSON_OPTION)
    .action((options: JsonOption & { readonly webhook?: true }) => {
      const [name, generated] = options.webhook ? ['webhook_secret', generateWebhookSecret()] : ['secret_key', generateSecretKey()]
      printResult(options, { [name]: generated }, generated)
    })
  addCommand(secret, 'rotate', 'replace the secret key that is kept beside the SQLite file; no user is logged out')
    .option(...JSON_OPTION)
    .action(rotateSecret)
}

async function rotateSecret(options: JsonOption): Promise<void> {
  const file = requireKept(readConfig())
  const rotation = await withServices((services) => rotateKeptSecret(services, OPERATOR, file))
  if (rotation === undefined) throw new InvalidInput([noSecretYet(file)])
  const former = formerSecretsFile(file)
  if (!rotation.isDone) {
    const from = `${timeText(rotation.possibleFrom).slice(0, 16)}Z`
    throw new InvalidInput([`${former} has three secrets whose tokens may still be valid; rotate again after ${from}`])
  }
  printResult(
    options,
    { file, former_file: former, former_secrets: rotation.formerSecrets },
    `Replaced the secret key in ${file}. The former one is kept in ${former}: sessions and mailed links stay valid.`,
    'Restart the service now. Until then it uses the former secret.',
    `Keep copies of both files, apart from backups of the database. The doctor command says when ${former} is no longer needed.`,
  )
}

/** The file with the secret. Everything that the service would refuse at its next start is refused here, before anything changes. */
function requireKept(config: Config): string {
  const file = secretKeyFile(config.database)
  if (config.secretKey !== undefined || file === undefined)
    throw new InvalidInput([
      'SECRET_KEY: is set, so there is no kept secret to replace; docs/operations.md, "Replacing SECRET_KEY", has the steps',
    ])
  if (existingSecretsOf(config) === undefined) throw new InvalidInput([noSecretYet(file)])
  const parsed = parseSecretKey(readFileSync(file, 'utf8').trim())
  if ('error' in parsed)
    throw new InvalidInput([
      `the content of ${file} ${parsed.error.split(';')[0]}, so its tokens should not stay valid; delete the file and restart the service, which ends all sessions`,
    ])
  return file
}

function noSecretYet(file: string): string {
  return `${file} does not exist; the first start of the service creates it`
}

const SIGNING_KEY_FORMAT: Format<SigningKey> = {
  columns: {
    ID: ({ id }) => id,
    STATE: (key) => signingKeyState(key, Date.now()),
    CREATED: ({ createdAt }) => timeText(createdAt),
    'SIGNS FROM': ({ signsFrom }) => timeText(signsFrom),
    'PUBLISHED UNTIL': ({ publishedUntil }) => timeText(publishedUntil),
  },
  json: (key) => ({
    id: key.id,
    state: signingKeyState(key, Date.now()),
    created_at: timeText(key.createdAt),
    signs_from: timeText(key.signsFrom),
    published_until: timeText(key.publishedUntil) || null,
  }),
}

export function signingKeyCommands(program: Command): void {
  const signingKey = addCommand(program, 'signing-key', 'manage the keys that sign tokens for other services')

  addCommand(signingKey, 'list', 'list the published keys in the order in which they sign')
    .option(...JSON_OPTION)
    .action((options: JsonOption) =>
      withServices(async ({ reads, now }) => printList(SIGNING_KEY_FORMAT, [await publishedSigningKeys(reads, now())], options)),
    )

  addCommand(signingKey, 'rotate', 'publish a new key, which signs as soon as no cache is without it; tokens of the current one stay valid')
    .option(...JSON_OPTION)
    .action(rotateSigningKey)
}

async function rotateSigningKey(options: JsonOption): Promise<void> {
  await withServices(async ({ signingKeys }) => {
    const key = await signingKeys.rotate(OPERATOR.origin)
    printResult(options, SIGNING_KEY_FORMAT.json(key), `published signing key ${key.id}, which signs from ${timeText(key.signsFrom)}`)
  })
}
