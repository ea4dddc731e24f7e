import { type Command, InvalidArgumentError, Option } from 'commander'
import { isSearchTerm, SEARCH_DEFAULTS, SEARCH_FIELDS, SEARCH_MAX_SIZE, SEARCH_TERM_MAX_LENGTH } from '../../domain/values/search.ts'
import { counted } from '../../shared/text.ts'
import { findUser, USER_HINT } from '../bulk.ts'
import type { ExportCommandOptions } from '../import/run-export.ts'
import type { ImportCommandOptions } from '../import/run-import.ts'
import { SOURCE_NAMES } from '../import/sources/source-names.ts'
import { checkInput } from '../terminal/input.ts'
import { createPrinter, createTablePrinter, JSON_OPTION, onePage, print, printJson } from '../terminal/output.ts'
import { USER_FORMAT } from '../terminal/views.ts'
import { DRY_RUN_OPTION, OPERATOR, withServices } from '../with-services.ts'
import { userChangeCommands, userEditCommands } from './user-change.commands.ts'

type JsonOption = { readonly json?: true }
type SearchOptions = JsonOption & {
  readonly field: keyof typeof SEARCH_FIELDS
  readonly exact?: true
  readonly page: number
  readonly size: number
}

export function userCommands(program: Command): void {
  const user = program.command('user').description('manage accounts')

  user
    .command('list')
    .description('list all accounts in order of id')
    .option(...JSON_OPTION)
    .action(listUsers)

  user
    .command('search')
    .description('find accounts by a part of their e-mail address or names')
    .argument('<term>', 'the text to search for; case does not matter')
    .addOption(new Option('--field <field>', 'the field to search').choices(Object.keys(SEARCH_FIELDS)).default(SEARCH_DEFAULTS.field))
    .option('--exact', 'match the whole field')
    .option('--page <number>', 'the page, from 1', wholeNumber(1, Number.MAX_SAFE_INTEGER), SEARCH_DEFAULTS.page)
    .option('--size <number>', `accounts per page, at most ${SEARCH_MAX_SIZE}`, wholeNumber(1, SEARCH_MAX_SIZE), SEARCH_DEFAULTS.size)
    .option(...JSON_OPTION)
    .action(searchUsers)

  user
    .command('show')
    .description('show an account')
    .argument('<user>', USER_HINT)
    .option(...JSON_OPTION)
    .action(showUser)

  userEditCommands(user)
  userChangeCommands(user)
  userMovingCommands(user)
}

/** The commands that move accounts in and out. What they need is loaded when they run. */
function userMovingCommands(parent: Command): void {
  parent
    .command('import')
    .description('import accounts from a file; see docs/migrating.md')
    .argument('<file>', 'the file that the other product has exported')
    .addOption(new Option('--from <source>', 'the product that the file comes from').choices(SOURCE_NAMES).makeOptionMandatory())
    .addOption(
      new Option('--on-conflict <rule>', 'for an address that has an account: skip the user, fail it, or update the account')
        .choices(['skip', 'fail', 'update'])
        .default('skip'),
    )
    .option('--keep-ids', 'keep the ids of the file; the database has to be empty')
    .option('--without-passwords', 'import users whose password hash cannot be taken over without it, for a reset by mail')
    .option('--rejects <file>', 'write rejected users with their reasons to this file, which can be imported again')
    .option('--hash-config <file>', 'the password hash parameters of a Firebase project, as its console shows them')
    .option(...DRY_RUN_OPTION)
    .option(...JSON_OPTION)
    .action(async (file: string, options: ImportCommandOptions) => {
      const { runImport } = await import('../import/run-import.ts')
      await runImport(file, options)
    })

  parent
    .command('export')
    .description('export all accounts with their API keys as JSON lines, which `user import --from latchkey` reads')
    .argument('[file]', 'the file to write; without it, standard output')
    .option('--with-hashes', 'include the hashes of passwords and API keys')
    .option('--force', 'replace the file if it exists')
    .option(...JSON_OPTION)
    .action(async (file: string | undefined, options: ExportCommandOptions) => {
      const { runExport } = await import('../import/run-export.ts')
      await runExport(file, options)
    })
}

function listUsers({ json }: JsonOption): Promise<void> {
  return withServices(({ userAdministration }) => createPrinter(USER_FORMAT, json === true).list(userAdministration.list(OPERATOR)))
}

function showUser(reference: string, { json }: JsonOption): Promise<void> {
  return withServices(async (services) => {
    createPrinter(USER_FORMAT, json === true).one(await findUser(services, reference))
  })
}

async function searchUsers(term: string, { field, exact, page, size, json }: SearchOptions): Promise<void> {
  checkInput((check) =>
    check(
      '<term>',
      isSearchTerm(term) ? term : undefined,
      `should be at most ${SEARCH_TERM_MAX_LENGTH} characters without control characters`,
    ),
  )
  await withServices(async ({ userAdministration }) => {
    const search = { term, field: SEARCH_FIELDS[field], isExact: exact === true, page, size }
    const { users, total } = await userAdministration.search(search)
    const pages = Math.ceil(total / size)
    if (json) return printJson({ items: users.map(USER_FORMAT.json), total, page, size, pages })
    if (users.length > 0) await createTablePrinter(USER_FORMAT.columns).list(onePage(users))
    if (users.length > 0) print('')
    print(`${counted(total, 'account')} found${pages > 0 ? `, page ${page} of ${pages}` : ''}`)
  })
}

function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= minimum && value <= maximum) return value
    throw new InvalidArgumentError(
      `It should be a whole number from ${minimum}${maximum === Number.MAX_SAFE_INTEGER ? '' : ` to ${maximum}`}.`,
    )
  }
}
