import type { Command } from 'commander'
import { INVITATION } from '../../model/invitation.ts'
import type { Language } from '../../model/language.ts'
import type { OwnAccount, Profile, User } from '../../model/user.ts'
import { type BulkOptions, bulkCommand, type Change, findUser, runBulk, type Subject, USER_HINT, withUser } from '../bulk.ts'
import { confirm, YES_OPTION } from '../terminal/ask.ts'
import {
  addCommand,
  type Check,
  checkEmail,
  checkInput,
  checkName,
  checkPassword,
  passwordOption,
  readPassword,
  requireOptions,
  willAskPassword,
} from '../terminal/input.ts'
import { isTerminal, JSON_OPTION, type JsonOption, print, printJson, printResult } from '../terminal/output.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { factorsJson, factorText, NO_FACTOR, timeText, USER_FORMAT, userLabel } from '../terminal/views.ts'
import { OPERATOR, readConfig, requireUnlisted, withServices } from '../with-services.ts'

type EditOptions = JsonOption & Partial<Profile> & { readonly language?: string }
type InviteOptions = JsonOption & Profile & { readonly admin?: true }
type CreateOptions = InviteOptions & { readonly password: string }

const FIELDS = {
  '--email <address>': 'the e-mail address',
  '--first-name <name>': 'the first name',
  '--last-name <name>': 'the last name',
} as const
const FIELD_NAMES = { email: 'e-mail address', firstName: 'first name', lastName: 'last name', language: 'language' } as const

const EDITED = { ...FIELDS, '--language <language>': 'the language of pages and mails, one of LANGUAGES' } as const

/** The commands that take the fields of one account. */
export function userEditCommands(parent: Command): void {
  requireOptions(addCommand(parent, 'create', 'create a verified account and print its id'), 'all', FIELDS)
    .addOption(passwordOption())
    .option('--admin', 'give the account the admin role')
    .option(...JSON_OPTION)
    .action(create)

  requireOptions(addCommand(parent, 'invite', 'mail somebody a link with which they create their account'), 'all', FIELDS)
    .option('--admin', 'give the account the admin role')
    .option(...JSON_OPTION)
    .action(invite)

  const account = { '<user>': USER_HINT }
  requireOptions(addCommand(parent, 'edit', 'change the e-mail address, the names or the language of an account', account), 'one', EDITED)
    .option(...JSON_OPTION)
    .action(edit)

  addCommand(parent, 'set-password', 'set the password of an account, and end all its sessions', account)
    .addOption(passwordOption())
    .option(...JSON_OPTION)
    .action(setPassword)

  addCommand(parent, 'plan', 'change the plan of an account', { ...account, '<plan>': 'the name of a plan in PLANS' })
    .option(...JSON_OPTION)
    .action(setPlan)

  addCommand(
    parent,
    'reset-second-factor',
    'remove the codes, recovery codes and passkeys of an account, and end all its sessions',
    account,
  )
    .option(...YES_OPTION)
    .option(...JSON_OPTION)
    .action(resetSecondFactor)
}

function profileCheck({ email, firstName, lastName }: Profile) {
  return (check: Check): Profile => ({
    email: checkEmail(check, email),
    firstName: checkName(check, '--first-name', firstName),
    lastName: checkName(check, '--last-name', lastName),
  })
}

async function create(options: CreateOptions): Promise<void> {
  const checkProfile = profileCheck(options)
  // A person should not type a password for a command that cannot succeed.
  if (willAskPassword(options.password)) checkInput(checkProfile)
  const password = await readPassword(options.password)
  const registrant = checkInput((check) => ({ ...checkProfile(check), password: checkPassword(check, password) }))
  await requireUnlisted(registrant.password, readConfig())
  await withServices(async ({ registration }) => {
    const user = await registration.create(OPERATOR, { ...registrant, role: options.admin ? 'admin' : 'user', verified: true })
    // Scripts read the id.
    printResult(options, USER_FORMAT.json(user), isTerminal() ? `created ${userLabel(user)}` : String(user.id))
  })
}

async function invite(options: InviteOptions): Promise<void> {
  const profile = checkInput(profileCheck(options))
  await withServices(async ({ invitations }) => {
    const invitation = await invitations.create(OPERATOR, profile, options.admin ? 'admin' : 'user')
    const { id, email, expiresAt } = invitation
    const text = isTerminal() ? `invited ${email}; the link in the mail works until ${timeText(expiresAt)}` : String(id)
    printResult(options, INVITATION.toJson(invitation), text)
  })
}

async function edit(reference: string, options: EditOptions): Promise<void> {
  const { email, firstName, lastName, language } = options
  const changes = checkInput((check) => ({
    ...(email !== undefined && { email: checkEmail(check, email) }),
    ...(firstName !== undefined && { firstName: checkName(check, '--first-name', firstName) }),
    ...(lastName !== undefined && { lastName: checkName(check, '--last-name', lastName) }),
    ...(language !== undefined && { language: checkLanguage(check, language) }),
  }))
  await withUser(reference, async ({ id }, { users }) => {
    const before = await users.details(id)
    const after = await users.edit(OPERATOR, id, changes)
    printResult(options, USER_FORMAT.json(after), describeEdit(before, await users.details(id)))
  })
}

function checkLanguage(check: Check, text: string): Language | undefined {
  const { languages } = readConfig()
  const language = languages.find((one) => one === text)
  check('--language', language, `should be one of ${languages.join(', ')}`)
  return language
}

function describeEdit(before: OwnAccount, after: OwnAccount): string {
  // The keys of this object.
  const changed = (Object.keys(FIELD_NAMES) as (keyof typeof FIELD_NAMES)[]).filter((field) => before[field] !== after[field])
  if (changed.length === 0) return `${userLabel(after)} already has these values`
  return `changed the ${new Intl.ListFormat('en').format(changed.map((field) => FIELD_NAMES[field]))} of ${userLabel(after)}`
}

async function setPassword(reference: string, { password, json }: JsonOption & { readonly password: string }): Promise<void> {
  await withUser(reference, async (user, services, { config }) => {
    const given = await readPassword(password)
    const checked = checkInput((check) => checkPassword(check, given))
    await requireUnlisted(checked, config)
    await services.users.changePassword(OPERATOR, user.id, checked)
    if (json) printJson(USER_FORMAT.json(await services.userAdministration.find(user.id)))
    else print(`set the password of ${userLabel(user)} and ended all its sessions`)
  })
}

async function setPlan(reference: string, name: string, options: JsonOption): Promise<void> {
  await withUser(reference, async (user, { plans }) => {
    if (plans === undefined) throw new InvalidInput(['PLANS is not set, so that there are no plans'])
    if (!plans.names.includes(name)) throw new InvalidInput([`<plan>: should be one of ${plans.names.join(', ')}`])
    const { limits } = await plans.set(OPERATOR, user.id, name)
    const texts = limits.map(({ text }) => text)
    printResult(options, { plan: name, limits: texts }, `${userLabel(user)} has the plan ${name}: ${texts.join(', ')}`)
  })
}

async function resetSecondFactor(reference: string, options: JsonOption & { readonly yes?: true }): Promise<void> {
  await withUser(reference, async (user, services) => {
    const removed = await services.userAdministration.factors(user.id)
    const label = userLabel(user)
    const json = { ...USER_FORMAT.json(user), removed: factorsJson(removed) }
    const text = factorText(removed)
    if (text === NO_FACTOR) return printResult(options, json, `${label} has no second factor; nothing was changed`)
    if (!options.yes) await confirm(`Remove the second factor of ${label} (${text}) and end all its sessions`)
    await services.secondFactor.reset(OPERATOR, user.id)
    printResult(options, json, `removed the second factor of ${label} (${text}) and ended all its sessions; the password is unchanged`)
  })
}

const CHANGES: readonly Change<User>[] = [
  {
    name: 'verify',
    description: 'mark the e-mail address of accounts as verified',
    phrase: ['verify', 'verified'],
    needless: ({ verified }) => (verified ? 'already verified' : undefined),
    apply: ({ userAdministration }, { id }) => userAdministration.verify(OPERATOR, id),
  },
  {
    name: 'ban',
    description: 'suspend accounts with their sessions and API keys',
    phrase: ['ban', 'banned'],
    needless: ({ banned }) => (banned ? 'already banned' : undefined),
    apply: ({ userAdministration }, { id }) => userAdministration.ban(OPERATOR, id),
  },
  {
    name: 'unban',
    description: 'restore banned accounts',
    phrase: ['unban', 'unbanned'],
    needless: ({ banned }) => (banned ? undefined : 'not banned'),
    apply: ({ userAdministration }, { id }) => userAdministration.unban(OPERATOR, id),
  },
  {
    name: 'make-admin',
    description: 'give accounts the admin role',
    phrase: ['make', 'made', ' an admin'],
    needless: ({ role }) => (role === 'admin' ? 'already an admin' : undefined),
    apply: ({ userAdministration }, { id }) => userAdministration.makeAdmin(OPERATOR, id),
  },
  {
    name: 'remove-admin',
    // Its name in earlier versions.
    alias: 'revoke-admin',
    description: 'remove the admin role from accounts',
    phrase: ['remove the admin role from', 'removed the admin role from'],
    needless: ({ role }) => (role === 'admin' ? undefined : 'not an admin'),
    apply: ({ userAdministration }, { id }) => userAdministration.revokeAdmin(OPERATOR, id),
  },
  {
    name: 'delete',
    description: 'delete accounts with their sessions and API keys, permanently',
    phrase: ['delete', 'deleted'],
    deletion: ' with all sessions and API keys',
    apply: ({ userAdministration }, { id }, onProgress) => userAdministration.remove(OPERATOR, id, onProgress),
  },
]

const USERS: Subject<User> = {
  plural: 'users',
  find: findUser,
  reload: ({ userAdministration }, { id }) => userAdministration.find(id),
  id: ({ id }) => id,
  label: userLabel,
  json: USER_FORMAT.json,
}

/** The commands that change one account or many. */
export function userChangeCommands(parent: Command): void {
  const hint = 'the ids or e-mail addresses of the accounts, or - to read them from standard input, one per line'
  for (const change of CHANGES)
    bulkCommand(parent, change, { '<users...>': hint }).action((given: string[], options: BulkOptions) =>
      withServices((services, { rehearse }) => runBulk({ services, rehearse, given, options }, USERS, change)),
    )
}
