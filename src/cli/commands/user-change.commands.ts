import type { Command } from 'commander'
import type { UserAdministration } from '../../domain/users/user-administration.service.ts'
import type { Profile, User } from '../../model/user.ts'
import { type BulkOptions, type Change, findUser, type OnProgress, runBulk, type Subject, USER_HINT, USERS_HINT } from '../bulk.ts'
import { YES_OPTION } from '../terminal/ask.ts'
import {
  type Check,
  checkEmail,
  checkInput,
  checkName,
  checkPassword,
  passwordOption,
  readPassword,
  requireOneOf,
  requireOptions,
  willAskPassword,
} from '../terminal/input.ts'
import { createJsonPrinter, isTerminal, JSON_OPTION, print } from '../terminal/output.ts'
import { USER_FORMAT, userLabel } from '../terminal/views.ts'
import { DRY_RUN_OPTION, OPERATOR, readConfig, requireUnlisted, withServices } from '../with-services.ts'

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
  const registrant = checkInput((check) => ({ ...checkProfile(check), password: checkPassword(check, password) }))
  await requireUnlisted(registrant.password, readConfig())
  await withServices(async ({ registration, userAdministration }) => {
    const id = await registration.create(OPERATOR, registrant, options.admin ? 'admin' : 'user')
    const user = await userAdministration.find(id)
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
  await withServices(async (services) => {
    const before = await findUser(services, reference)
    const after = await services.users.edit(OPERATOR, before.id, changes)
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
  await withServices(async (services, { config }) => {
    const user = await findUser(services, reference)
    const given = await readPassword(password)
    const checked = checkInput((check) => checkPassword(check, given))
    await requireUnlisted(checked, config)
    await services.users.changePassword(OPERATOR, user.id, checked)
    if (json) createJsonPrinter(USER_FORMAT.json).one(await services.userAdministration.find(user.id))
    else print(`set the password of ${userLabel(user)} and ended all its sessions`)
  })
}

type UserChange = Omit<Change<User>, 'apply'> & {
  readonly description: string
  run(userAdministration: UserAdministration, userId: number, onProgress: OnProgress): Promise<void>
}

const CHANGES: readonly UserChange[] = [
  {
    name: 'verify',
    description: 'mark the e-mail address of accounts as verified',
    phrase: ['verify', 'verified'],
    needless: ({ verified }) => (verified ? 'already verified' : undefined),
    run: (userAdministration, id) => userAdministration.verify(OPERATOR, id),
  },
  {
    name: 'ban',
    description: 'suspend accounts with their sessions and API keys',
    phrase: ['ban', 'banned'],
    needless: ({ banned }) => (banned ? 'already banned' : undefined),
    run: (userAdministration, id) => userAdministration.ban(OPERATOR, id),
  },
  {
    name: 'unban',
    description: 'restore banned accounts',
    phrase: ['unban', 'unbanned'],
    needless: ({ banned }) => (banned ? undefined : 'not banned'),
    run: (userAdministration, id) => userAdministration.unban(OPERATOR, id),
  },
  {
    name: 'make-admin',
    description: 'give accounts the admin role',
    phrase: ['make', 'made', ' an admin'],
    needless: ({ role }) => (role === 'admin' ? 'already an admin' : undefined),
    run: (userAdministration, id) => userAdministration.makeAdmin(OPERATOR, id),
  },
  {
    name: 'revoke-admin',
    description: 'remove the admin role from accounts',
    phrase: ['remove the admin role from', 'removed the admin role from'],
    needless: ({ role }) => (role === 'admin' ? undefined : 'not an admin'),
    run: (userAdministration, id) => userAdministration.revokeAdmin(OPERATOR, id),
  },
  {
    name: 'delete',
    description: 'delete accounts with their sessions and API keys, permanently',
    phrase: ['delete', 'deleted'],
    deletion: ' with all sessions and API keys',
    run: (userAdministration, id, onProgress) => userAdministration.remove(OPERATOR, id, onProgress),
  },
]

const USERS: Subject<User> = {
  plural: 'users',
  find: findUser,
  id: ({ id }) => id,
  label: userLabel,
  json: USER_FORMAT.json,
}

/** The commands that change one account or many. */
export function userChangeCommands(parent: Command): void {
  for (const change of CHANGES) {
    const command = parent
      .command(change.name)
      .description(change.description)
      .argument('<users...>', USERS_HINT)
      .option(...DRY_RUN_OPTION)
      .option(...JSON_OPTION)
      .action((given: string[], options: BulkOptions) =>
        withServices((services, { rehearse }) =>
          runBulk({ services, rehearse, given, options }, USERS, {
            ...change,
            async apply({ userAdministration }, { id }, onProgress) {
              await change.run(userAdministration, id, onProgress)
              return change.deletion === undefined ? userAdministration.find(id) : undefined
            },
          }),
        ),
      )
    if (change.deletion !== undefined) command.option(...YES_OPTION)
  }
}
