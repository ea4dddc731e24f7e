import { type Command, Option } from 'commander'
import { isSearchTerm, SEARCH_DEFAULTS, SEARCH_FIELDS, SEARCH_MAX_SIZE, SEARCH_TERM_MAX_LENGTH } from '../../domain/values/search.ts'
import { counted } from '../../shared/text.ts'
import { USER_HINT, withUser } from '../bulk.ts'
import type { ExportCommandOptions } from '../import/run-export.ts'
import type { ImportCommandOptions } from '../import/run-import.ts'
import { SOURCE_NAMES } from '../import/sources/source-names.ts'
import { addCommand, checkInput, countUpTo, parsedBy } from '../terminal/input.ts'
import { JSON_OPTION, type JsonOption, print, printJson, printList, printOne, printTable } from '../terminal/output.ts'
import { SHOWN_USER_FORMAT, USER_FORMAT } from '../terminal/views.ts'
import { DRY_RUN_OPTION, OPERATOR, withServices } from '../with-services.ts'
import { userChangeCommands, userEditCommands } from './user-change.commands.ts'

type SearchOptions = JsonOption & {
  readonly field: keyof typeof SEARCH_FIELDS
  readonly exact?: true
  readonly page: number
  readonly size: number
}

const pageOf = parsedBy(countUpTo(Number.MAX_SAFE_INTEGER), 'It should be a whole number from 1.')
const sizeOf = parsedBy(countUpTo(SEARCH_MAX_SIZE), `It should be a whole number from 1 to ${SEARCH_MAX_SIZE}.`)

export function userCommands(program: Command): void {
  const user = addCommand(program, 'user', 'manage accounts')

  addCommand(user, 'list', 'list all accounts in order of id')
    .option(...JSON_OPTION)
    .action((options: JsonOption) =>
      withServices(({ userAdministration }) => printList(USER_FORMAT, userAdministration.list(OPERATOR), options)),
    )

  addCommand(user, 'search', 'find accounts by a part of their e-mail address or names', {
    '<term>': 'the text to search for; case does not matter',
  })
    .addOption(new Option('--field <field>', 'the field to search').choices(Object.keys(SEARCH_FIELDS)).default(SEARCH_DEFAULTS.field))
    .option('--exact', 'match the whole field')
    .option('--page <number>', 'the page, from 1', pageOf, SEARCH_DEFAULTS.page)
    .option('--size <number>', `accounts per page, at most ${SEARCH_MAX_SIZE}`, sizeOf, SEARCH_DEFAULTS.size)
    .option(...JSON_OPTION)
    .action(searchUsers)

  addCommand(user, 'show', 'show an account', { '<user>': USER_HINT })
    .option(...JSON_OPTION)
    .action(showUser)

  userEditCommands(user)
  userChangeCommands(user)
  userMovingCommands(user)
}

/** The commands that move accounts in and out. What they need is loaded when they run. */
function userMovingCommands(parent: Command): void {
  addCommand(parent, 'import', 'import accounts from a file; see docs/migrating.md', {
    '<file>': 'the file that the other product has exported',
  })
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
    .action(async (file: string, options: ImportCommandOptions) => (await import('../import/run-import.ts')).runImport(file, options))

  addCommand(parent, 'export', 'export all accounts with their API keys as JSON lines, which `user import --from latchkey` reads', {
    '[file]': 'the file to write; without it, standard output',
  })
    .option('--with-hashes', 'include the hashes of passwords and API keys, and the secrets of second factors')
    .option('--force', 'replace the file if it exists')
    .option(...JSON_OPTION)
    .action(async (file: string | undefined, options: ExportCommandOptions) =>
      (await import('../import/run-export.ts')).runExport(file, options),
    )
}

function showUser(reference: string, options: JsonOption): Promise<void> {
  return withUser(reference, async (user, { users, userAdministration }) => {
    const [factors, { language }] = [await userAdministration.factors(user.id), await users.details(user.id)]
    printOne(SHOWN_USER_FORMAT, { ...user, factors, language }, options)
  })
}

async function searchUsers(term: string, { field, exact, page, size, json }: SearchOptions): Promise<void> {
  const limits = `should be at most ${SEARCH_TERM_MAX_LENGTH} characters without control characters`
  checkInput((check) => check('<term>', isSearchTerm(term) ? term : undefined, limits))
  await withServices(async ({ userAdministration }) => {
    const search = { term, field: SEARCH_FIELDS[field], isExact: exact === true, page, size }
    const { users, total } = await userAdministration.search(search)
    const pages = Math.ceil(total / size)
    if (json) return printJson({ items: users.map(USER_FORMAT.json), total, page, size, pages })
    if (users.length > 0) await printTable(USER_FORMAT.columns, [users])
    if (users.length > 0) print('')
    print(`${counted(total, 'account')} found${pages > 0 ? `, page ${page} of ${pages}` : ''}`)
  })
}
