import type { Command } from 'commander'
import { generateSecretKey } from '../../security/secret-key.ts'
import { print } from '../terminal/output.ts'

export function secretCommands(program: Command): void {
  program
    .command('secret')
    .description('make secrets')
    .command('generate')
    .description('print a new value for SECRET_KEY')
    .action(() => print(generateSecretKey()))
}
