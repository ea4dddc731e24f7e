import { type Command, InvalidArgumentError, Option } from 'commander'
import { createUserAdministration, type UserAdministration } from '../../domain/accounts/user-administration.service.ts'
import { isSearchTerm, SEARCH_DEFAULTS, SEARCH_FIELDS, SEARCH_MAX_SIZE, SEARCH_TERM_MAX_LENGTH } from '../../domain/values/search.ts'
import type { User } from '../../model/user.ts'
import type { Database } from '../../storage/database.ts'
import { ASKED_FOR, checkEmail, checkInput, checkName, checkPassword, PASSWORD_HINT, readPassword } from '../terminal/input.ts'
import { createPrinter, JSON_OPTION, onePage, print } from '../terminal/output.ts'
import { USER_FORMAT } from '../terminal/views.ts'
import { type BulkOptions, DRY_RUN_OPTION, runBulk } from './bulk.ts'
import { findUser, USER_HINT, USERS_HINT } from './find-user.ts'
import { OPERATOR, partsOf, withServices } from './with-services.ts'

type Change = (administration: UserAdministration, id: number) => Promise<void>
type JsonOption = { readonly json?: true }
type CreateOptions = JsonOption & {
  readonly email: string
  readonly password: string
  readonly firstName: string
  readonly lastName: string
  readonly admin?: true
}
type SearchOptions = JsonOption & {
  readonly field: keyof typeof SEARCH_FIELDS
  readonly exact?: true
  readonly page: number
  readonly size: number
}

export function userCommands(program: Command): void {
  const user = program.command('user').description('manage accounts')

  user
    .command('create')
    .description('make a verified account and print its id')
    .requiredOption('--email <address>', 'the e-mail address')
    .option('--password <password>', PASSWORD_HINT, ASKED_FOR)
    .requiredOption('--first-name <name>', 'the first name')
    .requiredOption('--last-name <name>', 'the last name')
    .option('--admin', 'give the account the admin role')
    .option(...JSON_OPTION)
    .action(createUser)

  user
    .command('list')
    .description('list all accounts in order of id')
    .option(...JSON_OPTION)
    .action(listUsers)

  user
    .command('search')
    .description('find accounts by a part of their address or names')
    .argument('<term>', 'what to look for, in any case')
    .addOption(new Option('--field <field>', 'where to look').choices(Object.keys(SEARCH_FIELDS)).default(SEARCH_DEFAULTS.field))
    .option('--exact', 'the whole field has to be the term')
    .option('--page <number>', 'the page, from 1', wholeNumber(1, Number.MAX_SAFE_INTEGER), SEARCH_DEFAULTS.page)
    .option('--size <number>', `how many on a page, at most ${SEARCH_MAX_SIZE}`, wholeNumber(1, SEARCH_MAX_SIZE), SEARCH_DEFAULTS.size)
    .option(...JSON_OPTION)
    .action(searchUsers)

  user
    .command('show')
    .description('show an account')
    .argument('<user>', USER_HINT)
    .option(...JSON_OPTION)
    .action(showUser)

  const change = (name: string, description: string, apply: Change) => changeCommand(user, name, description, apply)

  change('verify', 'take the e-mail address of accounts as verified', (administration, id) => administration.verify(OPERATOR, id))
  change('ban', 'suspend accounts with their sessions and keys', (administration, id) => administration.ban(OPERATOR, id))
  change('unban', 'restore banned accounts', (administration, id) => administration.unban(OPERATOR, id))
  change('make-admin', 'give accounts the admin role', (administration, id) => administration.makeAdmin(OPERATOR, id))
  change('revoke-admin', 'take the admin role away', (administration, id) => administration.revokeAdmin(OPERATOR, id))
  change('delete', 'delete accounts with their sessions and keys, for good', (administration, id) => administration.remove(OPERATOR, id))

  user
    .command('set-password')
    .description('set the password of an account, and end all its sessions')
    .argument('<user>', USER_HINT)
    .option('--password <password>', PASSWORD_HINT, ASKED_FOR)
    .option(...JSON_OPTION)
    .action(setPassword)
}

/** A command that changes accounts and shows them: as they are now, or as they were if they are gone. */
function changeCommand(parent: Command, name: string, description: string, apply: Change): void {
  async function applyTo(db: Database, reference: string): Promise<User> {
    const administration = createUserAdministration(partsOf(db))
    const before = await findUser(administration, reference)
    await apply(administration, before.id)
    return name === 'delete' ? before : await administration.find(before.id)
  }

  parent
    .command(name)
    .description(description)
    .argument('<users...>', USERS_HINT)
    .option(...DRY_RUN_OPTION)
    .option(...JSON_OPTION)
    .action((references: string[], options: BulkOptions) =>
      withServices((_, db) => runBulk(db, references, options, { label: name, format: USER_FORMAT, apply: applyTo })),
    )
}

async function showUser(reference: string, { json }: JsonOption): Promise<void> {
  await withServices(async ({ userAdministration }) => {
    createPrinter(USER_FORMAT, json === true).one(await findUser(userAdministration, reference))
  })
}

async function createUser(options: CreateOptions): Promise<void> {
  const given = await readPassword(options.password)
  const registration = checkInput((check) => ({
    email: checkEmail(check, options.email),
    password: checkPassword(check, given),
    firstName: checkName(check, '--first-name', options.firstName),
    lastName: checkName(check, '--last-name', options.lastName),
  }))
  await withServices(async ({ accounts, userAdministration }) => {
    const id = await accounts.create(OPERATOR, registration, options.admin ? 'admin' : 'user')
    if (options.json) createPrinter(USER_FORMAT, true).one(await userAdministration.find(id))
    else print(String(id))
  })
}

async function listUsers({ json }: JsonOption): Promise<void> {
  await withServices(({ userAdministration }) => createPrinter(USER_FORMAT, json === true).list(userAdministration.list(OPERATOR)))
}

async function searchUsers(term: string, { field, exact, page, size, json }: SearchOptions): Promise<void> {
  checkInput((check) =>
    check('<term>', isSearchTerm(term) ? term : undefined, `at most ${SEARCH_TERM_MAX_LENGTH} characters without control characters`),
  )
  await withServices(async ({ userAdministration }) => {
    const search = { term, field: SEARCH_FIELDS[field], isExact: exact === true, page, size }
    const { users, total } = await userAdministration.search(search)
    if (json) return print(JSON.stringify({ items: users.map(USER_FORMAT.json), total, page, size, pages: Math.ceil(total / size) }))
    await createPrinter(USER_FORMAT, false).list(onePage(users))
    print(`\n${total} found, page ${page} of ${Math.ceil(total / size)}`)
  })
}

async function setPassword(reference: string, { password, json }: JsonOption & { readonly password: string }): Promise<void> {
  const given = await readPassword(password)
  const checked = checkInput((check) => checkPassword(check, given))
  await withServices(async (services) => {
    const { id } = await findUser(services.userAdministration, reference)
    await services.users.changePassword(OPERATOR, id, checked)
    createPrinter(USER_FORMAT, json === true).one(await services.userAdministration.find(id))
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
