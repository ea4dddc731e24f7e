import { text as readAll } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { withDotEnv } from '../../config/load.ts'
import { parseEmail } from '../../domain/values/email.ts'
import { isPassword, NAME_MAX_LENGTH, parseName } from '../../domain/values/limits.ts'
import { PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH } from '../../domain/values/text.ts'
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
  return willAskPassword(option) ? askNewPassword() : ((await readLines())[0] ?? '')
}

/** Returns a secret that a person types unseen, or the first line of standard input. */
async function readSecretLine(question: string): Promise<string> {
  return isInteractive() ? askSecret(question) : ((await readLines())[0] ?? '')
}

const FROM_ENVIRONMENT = 'env:'

/** The value of an option that may hold a secret, which other users of the machine could read in the list of processes. */
export async function readSecretOption(option: string, given: string, question: string): Promise<string> {
  if (given === FROM_INPUT) return readSecretLine(question)
  if (!given.startsWith(FROM_ENVIRONMENT)) return given
  const name = given.slice(FROM_ENVIRONMENT.length)
  const value = withDotEnv(process.env)[name]
  if (!value) throw new InvalidInput([`${option}: the environment variable ${name} is not set`])
  return value
}

export async function readLines(): Promise<string[]> {
  return (await readAll(process.stdin)).split(/\r?\n/)
}

/** Adds options that all have to be given. Commander would report the first missing one only. */
export function requireOptions(command: Command, options: Readonly<Record<string, string>>): Command {
  return requireSome(command, options, ' (required)', (missing) => {
    if (missing.length > 0) command.error(`error: missing ${missing.length === 1 ? 'option' : 'options'}: ${missing.join(', ')}`)
  })
}

/** Adds options of which at least one has to be given. */
export function requireOneOf(command: Command, options: Readonly<Record<string, string>>): Command {
  const all = Object.keys(options)
  return requireSome(command, options, '', (missing) => {
    if (missing.length === all.length) command.error(`error: missing option: give at least one of ${all.join(', ')}`)
  })
}

function requireSome(
  command: Command,
  options: Readonly<Record<string, string>>,
  note: string,
  judge: (missing: readonly string[]) => void,
): Command {
  for (const [flags, description] of Object.entries(options)) command.option(flags, description + note)
  const isMissing = (flags: string) => {
    const option = command.options.find((candidate) => candidate.flags === flags)
    return option !== undefined && command.getOptionValue(option.attributeName()) === undefined
  }
  return command.hook('preAction', () => judge(Object.keys(options).filter(isMissing)))
}
