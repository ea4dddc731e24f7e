import type { Command } from 'commander'
import { isScope, MAX_SCOPES, SCOPE_MAX_LENGTH } from '../domain/limits.ts'
import { findUser, USER_HINT } from './find-user.ts'
import { checkInput, checkName } from './input.ts'
import { createPrinter, JSON_OPTION } from './output.ts'
import { KEY_FORMAT, NEW_KEY_FORMAT } from './views.ts'
import { withServices } from './with-services.ts'

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
    .description('delete an API key')
    .argument('<user>', USER_HINT)
    .argument('<key-id>', 'the id of the key')
    .option(...JSON_OPTION)
    .action(revokeKey)
}

async function listKeys(reference: string, { json }: JsonOption): Promise<void> {
  await withServices(async (services) => {
    const { id } = await findUser(services, reference)
    await createPrinter(KEY_FORMAT, json === true).list(await services.apiKeys.list(id))
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
    const { id } = await findUser(services, reference)
    createPrinter(NEW_KEY_FORMAT, json === true).one(await services.apiKeys.create(id, key))
  })
}

/** Shows the key as it was. */
async function revokeKey(reference: string, keyId: string, { json }: JsonOption): Promise<void> {
  await withServices(async (services) => {
    const { id } = await findUser(services, reference)
    const key = await services.apiKeys.find(id, keyId.toLowerCase())
    await services.apiKeys.remove(id, key.id)
    createPrinter(KEY_FORMAT, json === true).one(key)
  })
}
