import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { withDotEnv } from '../../config/load.ts'
import { parseEmail } from '../../domain/values/email.ts'
import { isPassword, NAME_MAX_LENGTH, parseName } from '../../domain/values/limits.ts'
import { PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH } from '../../domain/values/text.ts'
import { isTaken } from '../../shared/files.ts'
import { askNewPassword, askSecret, isInteractive } from './ask.ts'
import { InvalidInput } from './refusals.ts'

/** Stands for a value that is read from standard input. */
export const FROM_INPUT = '-'

export function passwordOption(): Option {
  const hint = 'the password, which other users of this machine can then see in the list of processes'
  return new Option('--password <password>', hint).default(FROM_INPUT, 'ask for it, or read it from standard input')
}

/** Checks options by the rules of the API, and reports every problem at once. */
export function checkInput<Value>(work: (check: Check) => Value): Value {
  const problems: string[] = []
  const value = work((option, parsed, problem) => {
    if (parsed !== undefined) return parsed
    problems.push(`${option}: ${problem}`)
    return ''
  })
  if (problems.length > 0) throw new InvalidInput(problems)
  return value
}

/** Returns the parsed value. An undefined one is a problem of the option. */
export type Check = (option: string, parsed: string | undefined, problem: string) => string

export function checkEmail(check: Check, text: string): string {
  return check('--email', parseEmail(text), 'should be an e-mail address')
}

export function checkName(check: Check, option: string, text: string): string {
  return check(option, parseName(text), `should be 1 to ${NAME_MAX_LENGTH} characters without control characters`)
}

export function checkPassword(check: Check, password: string): string {
  if (password === '') return check('--password', undefined, 'no password was given')
  const limits = `should be ${PASSWORD_MIN_LENGTH} to ${PASSWORD_MAX_LENGTH} characters`
  return check('--password', isPassword(password) ? password : undefined, limits)
}

/** Whether the command will ask a person for the password. Everything else is checked before. */
export function willAskPassword(option: string): boolean {
  return option === FROM_INPUT && isInteractive()
}

/** Returns the password of the option, or the one that a person types, or the first line of standard input. */
export async function readPassword(option: string): Promise<string> {
  if (option !== FROM_INPUT) return option
  return isInteractive() ? askNewPassword() : firstLine()
}

const FROM_ENVIRONMENT = 'env:'

/** The value of an option that may hold a secret, which other users of the machine could read in the list of processes. */
export async function readSecretOption(option: string, given: string, question: string): Promise<string> {
  if (given === FROM_INPUT) return isInteractive() ? askSecret(question) : firstLine()
  if (!given.startsWith(FROM_ENVIRONMENT)) return given
  const name = given.slice(FROM_ENVIRONMENT.length)
  const value = withDotEnv(process.env)[name]
  if (!value) throw new InvalidInput([`${option}: the environment variable ${name} is not set`])
  return value
}

export async function readLines(): Promise<string[]> {
  return (await readAll(process.stdin)).split(/\r?\n/)
}

async function firstLine(): Promise<string> {
  return (await readLines())[0] ?? ''
}

/** Refuses to write a file in place of another one, or in a folder that is missing. */
export function requirePlaceFor(file: string, { mayReplace }: { readonly mayReplace: boolean }): void {
  if (isTaken(file) && !mayReplace) throw new InvalidInput([`${file} already exists; choose another file, or replace it with --force`])
  // A missing folder may be a disk that is not mounted, so it is not created.
  if (!existsSync(dirname(file))) throw new InvalidInput([`${dirname(file)} does not exist; create it or mount it first`])
}

/** Adds a command, with a hint for each of its arguments. */
export function addCommand(parent: Command, name: string, description: string, hints: Readonly<Record<string, string>> = {}): Command {
  const command = parent.command(name).description(description)
  for (const [argument, hint] of Object.entries(hints)) command.argument(argument, hint)
  return command
}

/** Reads the value of an option. Commander reports the problem if there is none. */
export function parsedBy<Value>(parse: (text: string) => Value | undefined, problem: string): (text: string) => Value {
  return (text) => {
    const value = parse(text)
    if (value === undefined) throw new InvalidArgumentError(problem)
    return value
  }
}

/** Reads a whole number from 1. */
export function countUpTo(maximum: number): (text: string) => number | undefined {
  return (text) => (/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= maximum ? Number(text) : undefined)
}

/** Adds options of which all, or at least one, have to be given. Commander would report the first missing one only. */
export function requireOptions(command: Command, needed: 'all' | 'one', hints: Readonly<Record<string, string>>): Command {
  const note = needed === 'all' ? ' (required)' : ''
  const options = Object.entries(hints).map(([flags, hint]) => new Option(flags, hint + note))
  for (const option of options) command.addOption(option)
  const isMissing = (option: Option) => command.getOptionValue(option.attributeName()) === undefined
  return command.hook('preAction', () => {
    const missing = options.filter(isMissing).map(({ flags }) => flags)
    if (needed === 'all' && missing.length > 0)
      command.error(`error: missing ${missing.length === 1 ? 'option' : 'options'}: ${missing.join(', ')}`)
    if (needed === 'one' && missing.length === options.length)
      command.error(`error: missing option: give at least one of ${missing.join(', ')}`)
  })
}
