import type { Command } from 'commander'
import { createUserAdministration } from '../../../domain/users/user-administration.service.ts'
import { createUser } from '../../../domain/users/user-creation.ts'
import { createUsers } from '../../../domain/users/users.service.ts'
import type { Profile, User } from '../../../model/user.ts'
import { createPasswords } from '../../../security/password.ts'
import type { Database } from '../../../storage/database.ts'
import { findUser, USER_HINT } from '../../bulk/references.ts'
import {
  type Check,
  checkEmail,
  checkInput,
  checkName,
  checkPassword,
  passwordOption,
  readPassword,
  willAskPassword,
} from '../../terminal/input.ts'
import { createJsonPrinter, isTerminal, JSON_OPTION, print } from '../../terminal/output.ts'
import { requireOneOf, requireOptions } from '../../terminal/required-options.ts'
import { USER_FORMAT, userLabel } from '../../terminal/views.ts'
import { OPERATOR, partsOf, requireUnlisted, withDatabase } from '../../with-database.ts'

type JsonOption = { readonly json?: true }
type EditOptions = JsonOption & { readonly email?: string; readonly firstName?: string; readonly lastName?: string }
type CreateOptions = JsonOption & Profile & { readonly password: string; readonly admin?: true }

const FIELDS = {
  '--email <address>': 'the e-mail address',
  '--first-name <name>': 'the first name',
  '--last-name <name>': 'the last name',
} as const
const FIELD_NAMES: Readonly<Record<keyof Profile, string>> = { email: 'e-mail address', firstName: 'first name', lastName: 'last name' }

/** The commands that take the fields of one account. */
export function userEditCommands(parent: Command): void {
  requireOptions(parent.command('create').description('create a verified account and print its id'), FIELDS)
    .addOption(passwordOption())
    .option('--admin', 'give the account the admin role')
    .option(...JSON_OPTION)
    .action(create)

  requireOneOf(
    parent.command('edit').description('change the e-mail address or the names of an account').argument('<user>', USER_HINT),
    FIELDS,
  )
    .option(...JSON_OPTION)
    .action(edit)

  parent
    .command('set-password')
    .description('set the password of an account, and end all its sessions')
    .argument('<user>', USER_HINT)
    .addOption(passwordOption())
    .option(...JSON_OPTION)
    .action(setPassword)
}

async function create(options: CreateOptions): Promise<void> {
  const checkProfile = (check: Check) => ({
    email: checkEmail(check, options.email),
    firstName: checkName(check, '--first-name', options.firstName),
    lastName: checkName(check, '--last-name', options.lastName),
  })
  // A person should not type a password for a command that cannot succeed.
  if (willAskPassword(options.password)) checkInput(checkProfile)
  const password = await readPassword(options.password)
  const registration = checkInput((check) => ({ ...checkProfile(check), password: checkPassword(check, password) }))
  await requireUnlisted(registration.password)
  await withDatabase(async (db) => {
    const id = await createUser({ ...partsOf(db), passwords: createPasswords() }, OPERATOR, registration, options.admin ? 'admin' : 'user')
    const user = await administrationOf(db).find(id)
    if (options.json) createJsonPrinter(USER_FORMAT.json).one(user)
    // Scripts read the id.
    else print(isTerminal() ? `created ${userLabel(user)}` : String(id))
  })
}

async function edit(reference: string, { email, firstName, lastName, json }: EditOptions): Promise<void> {
  const changes = checkInput((check) => ({
    ...(email !== undefined && { email: checkEmail(check, email) }),
    ...(firstName !== undefined && { firstName: checkName(check, '--first-name', firstName) }),
    ...(lastName !== undefined && { lastName: checkName(check, '--last-name', lastName) }),
  }))
  await withDatabase(async (db) => {
    const before = await findUser(administrationOf(db), reference)
    const after = await createUsers({ ...partsOf(db), passwords: createPasswords() }).edit(OPERATOR, before.id, changes)
    if (json) createJsonPrinter(USER_FORMAT.json).one(after)
    else print(describeEdit(before, after))
  })
}

function describeEdit(before: User, after: User): string {
  const changed = (['email', 'firstName', 'lastName'] as const).filter((field) => before[field] !== after[field])
  if (changed.length === 0) return `${userLabel(after)} already has these values`
  return `changed the ${new Intl.ListFormat('en').format(changed.map((field) => FIELD_NAMES[field]))} of ${userLabel(after)}`
}

async function setPassword(reference: string, { password, json }: JsonOption & { readonly password: string }): Promise<void> {
  await withDatabase(async (db) => {
    const user = await findUser(administrationOf(db), reference)
    const given = await readPassword(password)
    const checked = checkInput((check) => checkPassword(check, given))
    await requireUnlisted(checked)
    await createUsers({ ...partsOf(db), passwords: createPasswords() }).changePassword(OPERATOR, user.id, checked)
    if (json) createJsonPrinter(USER_FORMAT.json).one(await administrationOf(db).find(user.id))
    else print(`set the password of ${userLabel(user)} and ended all its sessions`)
  })
}

function administrationOf(db: Database) {
  return createUserAdministration(partsOf(db))
}
