#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { messageOf } from '../process/open-database.ts'
import { readVersion } from '../process/version.ts'
import { backupCommands } from './commands/backup.commands.ts'
import { SomeFailed } from './commands/bulk.ts'
import { doctorCommands } from './commands/doctor.commands.ts'
import { keyCommands } from './commands/key.commands.ts'
import { mailCommands } from './commands/mail.commands.ts'
import { migrateDataCommands } from './commands/migrate-data.commands.ts'
import { secretCommands } from './commands/secret.commands.ts'
import { serviceCommands } from './commands/service.commands.ts'
import { userCommands } from './commands/user.commands.ts'
import { Interrupted } from './terminal/interruption.ts'
import { explainRefusal } from './terminal/refusals.ts'

const OK = 0
const REFUSED = 1
const MISUSED = 2

/** Runs one command, and gives the exit code of the process. What went wrong is told in a line each. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' })
    return OK
  } catch (error) {
    // The words of a misuse, and the help that was asked for, are written already.
    if (error instanceof CommanderError) return error.exitCode === OK ? OK : MISUSED
    // Each of those that failed has been told already.
    if (!(error instanceof SomeFailed)) for (const line of explainRefusal(error)) complain(line)
    return error instanceof Interrupted ? error.exitCode : REFUSED
  }
}

export function createProgram(): Command {
  const program = new Command('latchkey')
    .description('A self-hosted backend for user accounts and API keys. Settings come from the environment and from a .env file.')
    .version(readVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print how a command is used')
    .helpCommand('help [command]', 'print how a command is used')
    .configureOutput({
      outputError: (text) =>
        complain(
          text
            .replace(/^error: /, '')
            .trim()
            .replace(/\s*\n/g, ' '),
        ),
    })
    .exitOverride()
  serviceCommands(program)
  doctorCommands(program)
  userCommands(program)
  keyCommands(program)
  mailCommands(program)
  secretCommands(program)
  backupCommands(program)
  migrateDataCommands(program)
  return program
}

function complain(line: string): void {
  process.stderr.write(`latchkey: ${line}\n`)
}

/** Runs the command of this process. */
export async function main(): Promise<void> {
  process.stdout.on('error', (error: Error & { readonly code?: string }) => {
    // The reader of our output may go away early, as `head` does. Whatever else keeps it from being written is a failure.
    if (error.code === 'EPIPE' || process.exitCode === REFUSED) return
    complain(`the output could not be written: ${messageOf(error)}`)
    process.exitCode = REFUSED
  })
  process.exitCode = (await run(process.argv.slice(2))) || process.exitCode
}

if (import.meta.main) await main()
