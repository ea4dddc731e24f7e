import { type Command, Option } from 'commander'
import { parseInstant } from '../../domain/values/instant.ts'
import { isScope, MAX_OVERLAP_SECONDS, MAX_SCOPES, SCOPE_MAX_LENGTH } from '../../domain/values/limits.ts'
import { LIMIT_HINT, parseLimit } from '../../domain/values/plans.ts'
import { type ApiKey, KEY, type KeyAccess } from '../../model/api-key.ts'
import type { User } from '../../model/user.ts'
import type { Services } from '../../services.ts'
import { type BulkOptions, bulkCommand, type Change, runBulk, type Subject, USER_HINT, withUser } from '../bulk.ts'
import { addCommand, checkInput, checkName, requireOptions } from '../terminal/input.ts'
import { JSON_OPTION, type JsonOption, printList, printOne } from '../terminal/output.ts'
import { KEY_FORMAT, NEW_KEY_FORMAT, userLabel } from '../terminal/views.ts'
import { OPERATOR } from '../with-services.ts'
import { scanCommand } from './key-scan.commands.ts'

type CreateOptions = JsonOption & {
  readonly name: string
  readonly scope: readonly string[]
  readonly access: KeyAccess
  readonly expiresAt?: string
  readonly limit?: string
}
type RotateOptions = JsonOption & { readonly overlap: string }
type OwnedKey = ApiKey & { readonly owner: User }

const CHANGES: readonly Change<OwnedKey>[] = [
  {
    name: 'disable',
    description: 'disable API keys; they can be enabled again',
    phrase: ['disable', 'disabled'],
    needless: ({ isActive }) => (isActive ? undefined : 'already disabled'),
    apply: ({ apiKeys }, { id, owner }) => apiKeys.edit(OPERATOR, owner.id, id, { isActive: false }),
  },
  {
    name: 'enable',
    description: 'enable API keys that were disabled',
    phrase: ['enable', 'enabled'],
    needless: ({ isActive }) => (isActive ? 'already active' : undefined),
    apply: ({ apiKeys }, { id, owner }) => apiKeys.edit(OPERATOR, owner.id, id, { isActive: true }),
  },
  {
    name: 'delete',
    // Its name in earlier versions.
    alias: 'revoke',
    description: 'delete API keys, permanently',
    phrase: ['delete', 'deleted'],
    deletion: '',
    apply: ({ apiKeys }, { id, owner }) => apiKeys.remove(OPERATOR, owner.id, id),
  },
]

export function keyCommands(program: Command): void {
  const key = addCommand(program, 'key', 'manage API keys')

  addCommand(key, 'list', 'list the API keys of an account in order of creation', { '<user>': USER_HINT })
    .option(...JSON_OPTION)
    .action((reference: string, options: JsonOption) =>
      withUser(reference, async ({ id }, { apiKeys }) => printList(KEY_FORMAT, await apiKeys.list(OPERATOR, id), options)),
    )

  const create = addCommand(key, 'create', 'create an API key and show it, once', { '<user>': USER_HINT })
  requireOptions(create, 'all', { '--name <name>': 'the name of the key, such as the program that uses it' })
    .option('--scope <scope>', 'a scope of the key; repeat it for several', (scope, scopes: string[]) => [...scopes, scope], [])
    .option('--expires-at <date>', 'when the key expires, such as 2027-01-31T09:30:00Z; without it, the key does not expire')
    .addOption(new Option('--access <access>', 'what the key may call').choices(KEY.fields.access.choices ?? []).default('full'))
    .option('--limit <limit>', 'how often services accept the key, such as 10/m; without it, only the plan of the account limits it')
    .option(...JSON_OPTION)
    .action(createKey)

  addCommand(key, 'rotate', 'give an API key a new secret and show it, once', { '<user>': USER_HINT, '<key-id>': 'the id of the key' })
    .option('--overlap <time>', 'how long the former secret continues to work, such as 90s, 30m, 12h or 7d', '0s')
    .option(...JSON_OPTION)
    .action(rotateKey)

  const ids = { '<user>': USER_HINT, '<key-ids...>': 'the ids of the keys, or - to read them from standard input, one per line' }
  for (const change of CHANGES)
    bulkCommand(key, change, ids).action((reference: string, given: string[], options: BulkOptions) =>
      withUser(reference, (owner, services, { rehearse }) => runBulk({ services, rehearse, given, options }, keysOf(owner), change)),
    )
  scanCommand(key)
}

function keysOf(owner: User): Subject<OwnedKey> {
  const find = async ({ apiKeys }: Services, id: string) => ({ ...(await apiKeys.find(owner.id, id.toLowerCase())), owner })
  return {
    plural: 'API keys',
    find,
    reload: (services, { id }) => find(services, id),
    id: ({ id }) => id,
    label: ({ id, name }) => `key ${id} (${name}) of ${userLabel(owner)}`,
    // A deleted key is not active any more.
    json: (key, { isDeleted }) => KEY_FORMAT.json(isDeleted ? { ...key, isActive: false } : key),
  }
}

async function createKey(reference: string, options: CreateOptions): Promise<void> {
  const { name, scope, access, expiresAt, limit } = options
  const expiry = expiresAt === undefined ? undefined : parseInstant(expiresAt)
  const key = checkInput((check) => {
    const areValid = scope.length <= MAX_SCOPES && scope.every(isScope)
    const limits = `should be at most ${MAX_SCOPES} scopes of 1 to ${SCOPE_MAX_LENGTH} characters without control characters`
    check('--scope', areValid ? '' : undefined, limits)
    const isExpiry = expiresAt === undefined || (expiry !== undefined && expiry > Date.now())
    check('--expires-at', isExpiry ? '' : undefined, 'should be a date in the future with an offset, such as 2027-01-31T09:30:00Z')
    check('--limit', limit === undefined || parseLimit(limit) !== undefined ? '' : undefined, `should be ${LIMIT_HINT}`)
    return { name: checkName(check, '--name', name), scopes: scope, access, expiresAt: expiry, limit }
  })
  await withUser(reference, async ({ id }, { apiKeys }) => printOne(NEW_KEY_FORMAT, await apiKeys.create(OPERATOR, id, key), options))
}

async function rotateKey(reference: string, keyId: string, options: RotateOptions): Promise<void> {
  const seconds = parseDuration(options.overlap)
  checkInput((check) => {
    const isOverlap = seconds !== undefined && seconds <= MAX_OVERLAP_SECONDS
    check('--overlap', isOverlap ? '' : undefined, 'should be a time of at most 30 days, such as 90s, 30m, 12h or 7d')
  })
  await withUser(reference, async ({ id }, { apiKeys }) =>
    printOne(NEW_KEY_FORMAT, await apiKeys.rotate(OPERATOR, id, keyId.toLowerCase(), seconds), options),
  )
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 60 * 60, d: 24 * 60 * 60 }

/** A time in seconds; undefined if the text is not a time. A number without a unit counts seconds. */
function parseDuration(text: string): number | undefined {
  const [, count, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (UNIT_SECONDS[unit] ?? 1)
}
