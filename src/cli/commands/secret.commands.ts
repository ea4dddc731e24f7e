import type { Command } from 'commander'
import { generateSecretKey } from '../../security/secret-key.ts'
import { JSON_OPTION, print } from '../terminal/output.ts'

export function secretCommands(program: Command): void {
  program
    .command('secret')
    .description('generate secrets')
    .command('generate')
    .description('print a new value for SECRET_KEY')
    .option(...JSON_OPTION)
    .action(({ json }: { readonly json?: true }) => {
      const secret = generateSecretKey()
      print(json ? JSON.stringify({ secret_key: secret }) : secret)
    })
}
