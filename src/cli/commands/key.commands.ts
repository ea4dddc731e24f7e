import type { Command } from 'commander'
import { createUserAdministration } from '../../domain/accounts/user-administration.service.ts'
import { type ApiKeys, createApiKeys } from '../../domain/sessions/api-keys.service.ts'
import { isScope, MAX_SCOPES, SCOPE_MAX_LENGTH } from '../../domain/values/limits.ts'
import type { ApiKey } from '../../model/api-key.ts'
import type { User } from '../../model/user.ts'
import type { Database } from '../../storage/database.ts'
import { type BulkOptions, type Change, runBulk, type Subject } from '../bulk/bulk.ts'
import { findUser, USER_HINT } from '../bulk/references.ts'
import { DRY_RUN_OPTION } from '../bulk/rehearsal.ts'
import { YES_OPTION } from '../terminal/confirm.ts'
import { checkInput, checkName } from '../terminal/input.ts'
import { createPrinter, JSON_OPTION } from '../terminal/output.ts'
import { requireOptions } from '../terminal/required-options.ts'
import { KEY_FORMAT, keyLabel, NEW_KEY_FORMAT } from '../terminal/views.ts'
import { OPERATOR, partsOf, withDatabase } from '../with-database.ts'

type JsonOption = { readonly json?: true }
type CreateOptions = JsonOption & { readonly name: string; readonly scope: readonly string[] }
type KeyChange = Omit<Change<ApiKey>, 'apply'> & {
  readonly description: string
  run(apiKeys: ApiKeys, userId: number, keyId: string): Promise<ApiKey | undefined>
}

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
    .option(...JSON_OPTION)
    .action(createKey)

  for (const change of CHANGES) changeCommand(key, change)
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
    .action((reference: string, keyIds: string[], options: BulkOptions) =>
      withDatabase(async (db) => {
        const owner = await ownerOf(db, reference)
        const apply = (used: Database, { id }: ApiKey) => change.run(apiKeysOf(used), owner.id, id)
        await runBulk(db, keyIds, options, keysOf(owner), { ...change, apply })
      }),
    )
  if (change.deletion !== undefined) command.option(...YES_OPTION)
}

function keysOf(owner: User): Subject<ApiKey> {
  return {
    plural: 'API keys',
    find: (db, keyId) => apiKeysOf(db).find(owner.id, keyId.toLowerCase()),
    id: ({ id }) => id,
    label: (key) => keyLabel(key, owner),
    // A deleted key is not active any more.
    json: (key, isDeleted) => KEY_FORMAT.json(isDeleted ? { ...key, isActive: false } : key),
  }
}

async function listKeys(reference: string, { json }: JsonOption): Promise<void> {
  await withDatabase(async (db) => {
    const { id } = await ownerOf(db, reference)
    await createPrinter(KEY_FORMAT, json === true).list(await apiKeysOf(db).list(OPERATOR, id))
  })
}

async function createKey(reference: string, { name, scope, json }: CreateOptions): Promise<void> {
  const key = checkInput((check) => {
    const areValid = scope.length <= MAX_SCOPES && scope.every(isScope)
    const limits = `should be at most ${MAX_SCOPES} scopes of 1 to ${SCOPE_MAX_LENGTH} characters without control characters`
    check('--scope', areValid ? '' : undefined, limits)
    return { name: checkName(check, '--name', name), scopes: scope }
  })
  await withDatabase(async (db) => {
    const { id } = await ownerOf(db, reference)
    createPrinter(NEW_KEY_FORMAT, json === true).one(await apiKeysOf(db).create(OPERATOR, id, key))
  })
}

function ownerOf(db: Database, reference: string): Promise<User> {
  return findUser(createUserAdministration(partsOf(db)), reference)
}

function apiKeysOf(db: Database): ApiKeys {
  return createApiKeys(partsOf(db))
}
