#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { codeOf, explainSystemError } from '../shared/errors.ts'
import { readVersion } from '../shared/program.ts'
import { SomeFailed } from './bulk.ts'
import { auditCommands } from './commands/audit.commands.ts'
import { backupCommands } from './commands/backup.commands.ts'
import { conformanceCommands } from './commands/conformance.commands.ts'
import { doctorCommands } from './commands/doctor.commands.ts'
import { keyCommands } from './commands/key.commands.ts'
import { migrateDataCommands } from './commands/migrate-data.commands.ts'
import { mailCommands, webhookCommands } from './commands/outbox.commands.ts'
import { secretCommands, signingKeyCommands } from './commands/secret.commands.ts'
import { serviceCommands } from './commands/service.commands.ts'
import { sessionCommands } from './commands/session.commands.ts'
import { userCommands } from './commands/user.commands.ts'
import { Interrupted } from './terminal/interruption.ts'
import { onOutputError, print, printError, printNote } from './terminal/output.ts'
import { explainRefusal } from './terminal/refusals.ts'

const OK = 0
const REFUSED = 1
const MISUSED = 2

/** Runs one command and returns the exit code of the process. Each problem is printed as one line. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' })
    return OK
  } catch (error) {
    // Commander has printed the message of a misuse, or the help, already.
    if (error instanceof CommanderError) return error.exitCode === OK ? OK : MISUSED
    // A bulk command has printed a line for each failure already.
    if (!(error instanceof SomeFailed)) for (const line of explainRefusal(error)) printError(line)
    return error instanceof Interrupted || error instanceof SomeFailed ? error.exitCode : REFUSED
  }
}

export function createProgram(): Command {
  const program = new Command('latchkey')
    .description('A self-hosted backend for user accounts and API keys. Settings come from the environment and from a .env file.')
    .version(readVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => linesOf(text).forEach(print),
      writeErr: (text) => linesOf(text).forEach(printNote),
      outputError(text) {
        const line = text.trim().replace(/\s*\n/g, ' ')
        printError(line.replace(/^error: /, ''))
      },
    })
    .exitOverride()
  serviceCommands(program)
  doctorCommands(program)
  userCommands(program)
  keyCommands(program)
  sessionCommands(program)
  mailCommands(program)
  webhookCommands(program)
  auditCommands(program)
  secretCommands(program)
  signingKeyCommands(program)
  backupCommands(program)
  migrateDataCommands(program)
  conformanceCommands(program)
  helpCommand(program)
  return program
}

/** Commander's own help command knows one level only: `help user ban` would print the help of `user`. */
function helpCommand(program: Command): void {
  program
    .command('help')
    .description('print the help of a command')
    .argument('[command...]', 'the command, such as `user ban`')
    .action((path: readonly string[]) => {
      let found = program
      for (const name of path) {
        const next = found.commands.find((command) => command.name() === name)
        if (next === undefined) return program.error(`unknown command '${path.join(' ')}'`)
        found = next
      }
      found.outputHelp()
    })
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n')
}

/** Runs the command of this process. */
export async function main(): Promise<void> {
  onOutputError((error) => {
    // A reader such as `head` closes the pipe early, which is not an error. Everything else is.
    if (codeOf(error) === 'EPIPE' || process.exitCode === REFUSED) return
    printError(`the output could not be written: ${explainSystemError(error)}`)
    process.exitCode = REFUSED
  })
  process.exitCode = (await run(process.argv.slice(2))) || process.exitCode
}

if (import.meta.main) await main()
