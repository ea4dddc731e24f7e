import type { Command } from 'commander'
import { checkEmail, checkInput, checkName, checkPassword, PASSWORD_HINT, readPassword } from './input.ts'
import { print } from './output.ts'
import { withServices } from './with-services.ts'

type CreateOptions = {
  readonly email: string
  readonly password: string
  readonly firstName: string
  readonly lastName: string
  readonly admin?: true
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
    .action(createUser)
}

async function createUser(options: CreateOptions): Promise<void> {
  const given = await readPassword(options.password)
  const registration = checkInput((check) => ({
    email: checkEmail(check, options.email),
    password: checkPassword(check, given),
    firstName: checkName(check, '--first-name', options.firstName),
    lastName: checkName(check, '--last-name', options.lastName),
  }))
  await withServices(async ({ accounts }) => {
    print(String(await accounts.create(registration, options.admin ? 'admin' : 'user')))
  })
}
