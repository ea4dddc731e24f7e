import { type Command, InvalidArgumentError, Option } from 'commander'
import { createUserAdministration, type UserAdministration } from '../../../domain/users/user-administration.service.ts'
import { isSearchTerm, SEARCH_DEFAULTS, SEARCH_FIELDS, SEARCH_MAX_SIZE, SEARCH_TERM_MAX_LENGTH } from '../../../domain/values/search.ts'
import { counted } from '../../../shared/counted.ts'
import { findUser, USER_HINT } from '../../bulk/references.ts'
import { checkInput } from '../../terminal/input.ts'
import { createPrinter, createTablePrinter, JSON_OPTION, onePage, print, printJson } from '../../terminal/output.ts'
import { USER_FORMAT } from '../../terminal/views.ts'
import { OPERATOR, partsOf, withDatabase } from '../../with-database.ts'
import { userChangeCommands } from './user-change.commands.ts'
import { userEditCommands } from './user-edit.commands.ts'
import { userMovingCommands } from './user-import.commands.ts'

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

function withAdministration(work: (userAdministration: UserAdministration) => Promise<void>): Promise<void> {
  return withDatabase((db) => work(createUserAdministration(partsOf(db))))
}

function listUsers({ json }: JsonOption): Promise<void> {
  return withAdministration((userAdministration) => createPrinter(USER_FORMAT, json === true).list(userAdministration.list(OPERATOR)))
}

function showUser(reference: string, { json }: JsonOption): Promise<void> {
  return withAdministration(async (userAdministration) => {
    createPrinter(USER_FORMAT, json === true).one(await findUser(userAdministration, reference))
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
  await withAdministration(async (userAdministration) => {
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
