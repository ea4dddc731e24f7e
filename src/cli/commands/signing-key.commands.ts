import type { Command } from 'commander'
import { withDotEnv } from '../../config/dotenv.ts'
import { loadConfig } from '../../config/load.ts'
import { signingKeyState } from '../../domain/identity/signing-key-times.ts'
import { createSigningKeys, publishedSigningKeys } from '../../domain/identity/signing-keys.ts'
import type { SigningKey } from '../../model/signing-key.ts'
import { secretsOf } from '../../process/secrets.ts'
import { createPrinter, type Format, JSON_OPTION, onePage, print, printJson } from '../terminal/output.ts'
import { OPERATOR, partsOf, withDatabase } from '../with-database.ts'

type JsonOption = { readonly json?: true }

const iso = (time: number) => new Date(time).toISOString()

const FORMAT: Format<SigningKey> = {
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
    .action(listKeys)

  signingKey
    .command('rotate')
    .description('publish a new key, which signs as soon as no cache is without it; tokens of the current one stay valid')
    .option(...JSON_OPTION)
    .action(rotateKey)
}

async function listKeys({ json }: JsonOption): Promise<void> {
  await withDatabase(async (db) => {
    const { reads, now } = partsOf(db)
    await createPrinter(FORMAT, json === true).list(onePage(await publishedSigningKeys(reads, now())))
  })
}

async function rotateKey({ json }: JsonOption): Promise<void> {
  const secrets = secretsOf(loadConfig(withDotEnv(process.env)))
  await withDatabase(async (db) => {
    const key = await createSigningKeys({ ...partsOf(db), secrets }).rotate(OPERATOR.origin)
    if (json) printJson(FORMAT.json(key))
    else print(`published signing key ${key.id}, which signs from ${iso(key.signsFrom)}`)
  })
}
