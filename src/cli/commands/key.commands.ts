import type { Command } from 'commander'
import { createApiKeys } from '../../domain/sessions/api-keys.service.ts'
import { isScope, MAX_SCOPES, SCOPE_MAX_LENGTH } from '../../domain/values/limits.ts'
import type { Database } from '../../storage/database.ts'
import { checkInput, checkName } from '../terminal/input.ts'
import { createPrinter, JSON_OPTION } from '../terminal/output.ts'
import { KEY_FORMAT, NEW_KEY_FORMAT } from '../terminal/views.ts'
import { type BulkOptions, DRY_RUN_OPTION, runBulk } from './bulk.ts'
import { findUser, USER_HINT } from './find-user.ts'
import { OPERATOR, partsOf, withServices } from './with-services.ts'

type JsonOption = { readonly json?: true }
type CreateOptions = JsonOption & { readonly name: string; readonly scope: readonly string[] }

export function keyCommands(program: Command): void {
  const key = program.command('key').description('manage API keys')

  key
    .command('list')
    .description('list the API keys of an account in order of creation')
    .argument('<user>', USER_HINT)
    .option(...JSON_OPTION)
    .action(listKeys)

  key
    .command('create')
    .description('make an API key and show it, this once')
    .argument('<user>', USER_HINT)
    .requiredOption('--name <name>', 'what it is for')
    .option('--scope <scope>', 'a scope that it carries; may be given several times', (scope, scopes: string[]) => [...scopes, scope], [])
    .option(...JSON_OPTION)
    .action(createKey)

  key
    .command('revoke')
    .description('delete API keys')
    .argument('<user>', USER_HINT)
    .argument('<key-ids...>', 'the ids of the keys, or - to read them from standard input, one per line')
    .option(...DRY_RUN_OPTION)
    .option(...JSON_OPTION)
    .action(revokeKeys)
}

async function listKeys(reference: string, { json }: JsonOption): Promise<void> {
  await withServices(async (services) => {
    const { id } = await findUser(services.userAdministration, reference)
    await createPrinter(KEY_FORMAT, json === true).list(await services.apiKeys.list(OPERATOR, id))
  })
}

async function createKey(reference: string, { name, scope, json }: CreateOptions): Promise<void> {
  const key = checkInput((check) => {
    const isFit = scope.length <= MAX_SCOPES && scope.every(isScope)
    check(
      '--scope',
      isFit ? '' : undefined,
      `at most ${MAX_SCOPES} scopes of 1 to ${SCOPE_MAX_LENGTH} characters without control characters`,
    )
    return { name: checkName(check, '--name', name), scopes: scope }
  })
  await withServices(async (services) => {
    const { id } = await findUser(services.userAdministration, reference)
    createPrinter(NEW_KEY_FORMAT, json === true).one(await services.apiKeys.create(OPERATOR, id, key))
  })
}

/** Shows the keys as they were. */
async function revokeKeys(reference: string, keyIds: string[], options: BulkOptions): Promise<void> {
  await withServices(async (services, db) => {
    const { id } = await findUser(services.userAdministration, reference)
    const revoke = async (used: Database, keyId: string) => {
      const apiKeys = createApiKeys(partsOf(used))
      const key = await apiKeys.find(id, keyId.toLowerCase())
      await apiKeys.remove(OPERATOR, id, key.id)
      return key
    }
    await runBulk(db, keyIds, options, { label: 'revoke', format: KEY_FORMAT, apply: revoke })
  })
}
