import { type Command, Option } from 'commander'
import type { ApiKeys } from '../../domain/keys/keys.service.ts'
import { parseInstant } from '../../domain/values/instant.ts'
import { isScope, MAX_OVERLAP_SECONDS, MAX_SCOPES, SCOPE_MAX_LENGTH } from '../../domain/values/limits.ts'
import type { ApiKey, KeyAccess } from '../../model/api-key.ts'
import type { User } from '../../model/user.ts'
import { type BulkOptions, type Change, findUser, runBulk, type Subject, USER_HINT } from '../bulk.ts'
import { YES_OPTION } from '../terminal/ask.ts'
import { checkInput, checkName, requireOptions } from '../terminal/input.ts'
import { createPrinter, JSON_OPTION } from '../terminal/output.ts'
import { KEY_FORMAT, keyLabel, NEW_KEY_FORMAT } from '../terminal/views.ts'
import { DRY_RUN_OPTION, OPERATOR, withServices } from '../with-services.ts'
import { scanCommand } from './key-scan.commands.ts'

type JsonOption = { readonly json?: true }
type CreateOptions = JsonOption & {
  readonly name: string
  readonly scope: readonly string[]
  readonly access: KeyAccess
  readonly expiresAt?: string
}
type RotateOptions = JsonOption & { readonly overlap: string }
type KeyChange = Omit<Change<ApiKey>, 'apply'> & {
  readonly description: string
  run(apiKeys: ApiKeys, userId: number, keyId: string): Promise<ApiKey | undefined>
}

const ACCESS: readonly KeyAccess[] = ['full', 'read', 'identify']

const CHANGES: readonly KeyChange[] = [
  {
    name: 'disable',
    description: 'disable API keys; they can be enabled again',
    phrase: ['disable', 'disabled'],
    needless: ({ isActive }) => (isActive ? undefined : 'already disabled'),
    run: (apiKeys, userId, keyId) => apiKeys.edit(OPERATOR, userId, keyId, { isActive: false }),
  },
  {
    name: 'enable',
    description: 'enable API keys that were disabled',
    phrase: ['enable', 'enabled'],
    needless: ({ isActive }) => (isActive ? 'already active' : undefined),
    run: (apiKeys, userId, keyId) => apiKeys.edit(OPERATOR, userId, keyId, { isActive: true }),
  },
  {
    name: 'revoke',
    description: 'delete API keys, permanently',
    phrase: ['delete', 'deleted'],
    deletion: '',
    async run(apiKeys, userId, keyId) {
      await apiKeys.remove(OPERATOR, userId, keyId)
      return undefined
    },
  },
]

export function keyCommands(program: Command): void {
  const key = program.command('key').description('manage API keys')

  key
    .command('list')
    .description('list the API keys of an account in order of creation')
    .argument('<user>', USER_HINT)
    .option(...JSON_OPTION)
    .action(listKeys)

  const create = key.command('create').description('create an API key and show it, once').argument('<user>', USER_HINT)
  requireOptions(create, { '--name <name>': 'the name of the key, such as the program that uses it' })
    .option('--scope <scope>', 'a scope of the key; repeat it for several', (scope, scopes: string[]) => [...scopes, scope], [])
    .option('--expires-at <date>', 'when the key expires, such as 2027-01-31T09:30:00Z; without it, the key does not expire')
    .addOption(new Option('--access <access>', 'what the key may call').choices(ACCESS).default('full'))
    .option(...JSON_OPTION)
    .action(createKey)

  key
    .command('rotate')
    .description('give an API key a new secret and show it, once')
    .argument('<user>', USER_HINT)
    .argument('<key-id>', 'the id of the key')
    .option('--overlap <time>', 'how long the former secret continues to work, such as 90s, 30m, 12h or 7d', '0s')
    .option(...JSON_OPTION)
    .action(rotateKey)

  for (const change of CHANGES) changeCommand(key, change)
  scanCommand(key)
}

/** A command that changes one key of an account or many. */
function changeCommand(parent: Command, change: KeyChange): void {
  const command = parent
    .command(change.name)
    .description(change.description)
    .argument('<user>', USER_HINT)
    .argument('<key-ids...>', 'the ids of the keys, or - to read them from standard input, one per line')
    .option(...DRY_RUN_OPTION)
    .option(...JSON_OPTION)
    .action((reference: string, given: string[], options: BulkOptions) =>
      withServices(async (services, { rehearse }) => {
        const owner = await findUser(services, reference)
        await runBulk({ services, rehearse, given, options }, keysOf(owner), {
          ...change,
          apply: ({ apiKeys }, { id }) => change.run(apiKeys, owner.id, id),
        })
      }),
    )
  if (change.deletion !== undefined) command.option(...YES_OPTION)
}

function keysOf(owner: User): Subject<ApiKey> {
  return {
    plural: 'API keys',
    find: ({ apiKeys }, keyId) => apiKeys.find(owner.id, keyId.toLowerCase()),
    id: ({ id }) => id,
    label: (key) => keyLabel(key, owner),
    // A deleted key is not active any more.
    json: (key, isDeleted) => KEY_FORMAT.json(isDeleted ? { ...key, isActive: false } : key),
  }
}

async function listKeys(reference: string, { json }: JsonOption): Promise<void> {
  await withServices(async (services) => {
    const { id } = await findUser(services, reference)
    await createPrinter(KEY_FORMAT, json === true).list(await services.apiKeys.list(OPERATOR, id))
  })
}

async function createKey(reference: string, { name, scope, access, expiresAt, json }: CreateOptions): Promise<void> {
  const expiry = expiresAt === undefined ? undefined : parseInstant(expiresAt)
  const key = checkInput((check) => {
    const areValid = scope.length <= MAX_SCOPES && scope.every(isScope)
    const limits = `should be at most ${MAX_SCOPES} scopes of 1 to ${SCOPE_MAX_LENGTH} characters without control characters`
    check('--scope', areValid ? '' : undefined, limits)
    const isExpiry = expiresAt === undefined || (expiry !== undefined && expiry > Date.now())
    check('--expires-at', isExpiry ? '' : undefined, 'should be a date in the future with an offset, such as 2027-01-31T09:30:00Z')
    return { name: checkName(check, '--name', name), scopes: scope, access, expiresAt: expiry }
  })
  await withServices(async (services) => {
    const { id } = await findUser(services, reference)
    createPrinter(NEW_KEY_FORMAT, json === true).one(await services.apiKeys.create(OPERATOR, id, key))
  })
}

async function rotateKey(reference: string, keyId: string, { overlap, json }: RotateOptions): Promise<void> {
  const seconds = parseDuration(overlap)
  checkInput((check) => {
    const isOverlap = seconds !== undefined && seconds <= MAX_OVERLAP_SECONDS
    check('--overlap', isOverlap ? '' : undefined, 'should be a time of at most 30 days, such as 90s, 30m, 12h or 7d')
  })
  await withServices(async (services) => {
    const { id } = await findUser(services, reference)
    createPrinter(NEW_KEY_FORMAT, json === true).one(await services.apiKeys.rotate(OPERATOR, id, keyId.toLowerCase(), seconds))
  })
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 60 * 60, d: 24 * 60 * 60 }

/** A time in seconds; undefined if the text is not a time. A number without a unit counts seconds. */
function parseDuration(text: string): number | undefined {
  const [, count, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (UNIT_SECONDS[unit] ?? 1)
}
