import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { Config } from '../../config/load.ts'
import { parseSecretKey } from '../../config/values.ts'
import { publishedSigningKeys, signingKeyState } from '../../domain/identity/signing-keys.ts'
import { rotateKeptSecret } from '../../domain/operations/secret-use.ts'
import type { SigningKey } from '../../model/signing-key.ts'
import { existingSecretsOf, secretKeyFile } from '../../process/secrets.ts'
import { formerSecretsFile, generateSecretKey, generateWebhookSecret } from '../../security/secret-key.ts'
import { createPrinter, type Format, JSON_OPTION, onePage, print, printJson } from '../terminal/output.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { OPERATOR, readConfig, withServices } from '../with-services.ts'

type Options = { readonly json?: true }

export function secretCommands(program: Command): void {
  const secret = program.command('secret').description('generate and replace secrets')
  secret
    .command('generate')
    .description('print a new value for SECRET_KEY, or for WEBHOOK_SECRET')
    .option('--webhook', 'a value for WEBHOOK_SECRET')
    .option(...JSON_OPTION)
    .action(({ json, webhook }: Options & { readonly webhook?: true }) => {
      const generated = webhook ? generateWebhookSecret() : generateSecretKey()
      if (json) printJson({ [webhook ? 'webhook_secret' : 'secret_key']: generated })
      else print(generated)
    })
  secret
    .command('rotate')
    .description('replace the secret key that is kept beside the SQLite file; no user is logged out')
    .option(...JSON_OPTION)
    .action(rotateSecret)
}

async function rotateSecret({ json }: Options): Promise<void> {
  const file = requireKept(readConfig())
  const rotation = await withServices((services) => rotateKeptSecret(services, OPERATOR, file))
  if (rotation === undefined) throw new InvalidInput([noSecretYet(file)])
  const former = formerSecretsFile(file)
  if (!rotation.isDone) throw new InvalidInput([tooManyFormer(former, rotation.possibleFrom)])
  if (json) return printJson({ file, former_file: former, former_secrets: rotation.formerSecrets })
  print(`Replaced the secret key in ${file}. The former one is kept in ${former}: sessions and mailed links stay valid.`)
  print('Restart the service now. Until then it uses the former secret.')
  print(`Keep copies of both files, apart from backups of the database. The doctor command says when ${former} is no longer needed.`)
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

function tooManyFormer(file: string, possibleFrom: number): string {
  return `${file} has three secrets whose tokens may still be valid; rotate again after ${new Date(possibleFrom).toISOString().slice(0, 16)}Z`
}

const iso = (time: number) => new Date(time).toISOString()

const SIGNING_KEY_FORMAT: Format<SigningKey> = {
  columns: {
    ID: ({ id }) => id,
    STATE: (key) => signingKeyState(key, Date.now()),
    CREATED: ({ createdAt }) => iso(createdAt),
    'SIGNS FROM': ({ signsFrom }) => iso(signsFrom),
    'PUBLISHED UNTIL': ({ publishedUntil }) => (publishedUntil === undefined ? '' : iso(publishedUntil)),
  },
  json: (key) => ({
    id: key.id,
    state: signingKeyState(key, Date.now()),
    created_at: iso(key.createdAt),
    signs_from: iso(key.signsFrom),
    published_until: key.publishedUntil === undefined ? null : iso(key.publishedUntil),
  }),
}

export function signingKeyCommands(program: Command): void {
  const signingKey = program.command('signing-key').description('manage the keys that sign tokens for other services')

  signingKey
    .command('list')
    .description('list the published keys in the order in which they sign')
    .option(...JSON_OPTION)
    .action(listSigningKeys)

  signingKey
    .command('rotate')
    .description('publish a new key, which signs as soon as no cache is without it; tokens of the current one stay valid')
    .option(...JSON_OPTION)
    .action(rotateSigningKey)
}

async function listSigningKeys({ json }: Options): Promise<void> {
  await withServices(async ({ reads, now }) => {
    await createPrinter(SIGNING_KEY_FORMAT, json === true).list(onePage(await publishedSigningKeys(reads, now())))
  })
}

async function rotateSigningKey({ json }: Options): Promise<void> {
  await withServices(async ({ signingKeys }) => {
    const key = await signingKeys.rotate(OPERATOR.origin)
    if (json) printJson(SIGNING_KEY_FORMAT.json(key))
    else print(`published signing key ${key.id}, which signs from ${iso(key.signsFrom)}`)
  })
}
