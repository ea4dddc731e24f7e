import { type Command, InvalidArgumentError, Option } from 'commander'
import { isSearchTerm, SEARCH_DEFAULTS, SEARCH_FIELDS, SEARCH_MAX_SIZE, SEARCH_TERM_MAX_LENGTH } from '../domain/search.ts'
import type { User } from '../model/user.ts'
import type { Services } from '../services.ts'
import { findUser, USER_HINT } from './find-user.ts'
import { checkEmail, checkInput, checkName, checkPassword, PASSWORD_HINT, readPassword } from './input.ts'
import { createPrinter, JSON_OPTION, onePage, print } from './output.ts'
import { USER_FORMAT } from './views.ts'
import { withServices } from './with-services.ts'

type Change = (services: Services, user: User) => Promise<void>
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
    .requiredOption('--password <password>', PASSWORD_HINT)
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

  const change = (name: string, description: string, apply: Change) => changeCommand(user, name, description, apply)

  change('show', 'show an account', async () => undefined)
  change('verify', 'take the e-mail address of an account as verified', ({ userAdministration }, { id }) => userAdministration.verify(id))
  change('ban', 'suspend an account with its sessions and keys', ({ userAdministration }, { id }) => userAdministration.ban('operator', id))
  change('unban', 'restore a banned account', ({ userAdministration }, { id }) => userAdministration.unban(id))
  change('make-admin', 'give an account the admin role', ({ userAdministration }, { id }) => userAdministration.makeAdmin(id))
  change('revoke-admin', 'take the admin role away', ({ userAdministration }, { id }) => userAdministration.revokeAdmin('operator', id))
  change('delete', 'delete an account with its sessions and keys, for good', ({ userAdministration }, { id }) =>
    userAdministration.remove('operator', id),
  )

  user
    .command('set-password')
    .description('set the password of an account, and end all its sessions')
    .argument('<user>', USER_HINT)
    .requiredOption('--password <password>', PASSWORD_HINT)
    .option(...JSON_OPTION)
    .action(setPassword)
}

/** A command that changes one account and shows it: as it is now, or as it was if it is gone. */
function changeCommand(parent: Command, name: string, description: string, apply: Change): void {
  parent
    .command(name)
    .description(description)
    .argument('<user>', USER_HINT)
    .option(...JSON_OPTION)
    .action((reference: string, { json }: JsonOption) =>
      withServices(async (services) => {
        const before = await findUser(services, reference)
        await apply(services, before)
        const isGone = name === 'delete'
        createPrinter(USER_FORMAT, json === true).one(isGone ? before : await services.userAdministration.find(before.id))
      }),
    )
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
    const id = await accounts.create(registration, options.admin ? 'admin' : 'user')
    if (options.json) createPrinter(USER_FORMAT, true).one(await userAdministration.find(id))
    else print(String(id))
  })
}

async function listUsers({ json }: JsonOption): Promise<void> {
  await withServices(({ userAdministration }) => createPrinter(USER_FORMAT, json === true).list(userAdministration.list()))
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
    const { id } = await findUser(services, reference)
    await services.users.changePassword('operator', id, checked)
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
