import { text as readAll } from 'node:stream/consumers'
import { parseEmail } from '../../domain/values/email.ts'
import { isPassword, NAME_MAX_LENGTH, parseName } from '../../domain/values/limits.ts'
import { PASSWORD_MAX_LENGTH, PASSWORD_MIN_LENGTH } from '../../domain/values/text.ts'
import { askPassword } from './ask-password.ts'
import { InvalidInput } from './refusals.ts'

export const PASSWORD_HINT =
  'the password; left out or -, it is asked for or read from standard input, where other users of the machine cannot see it'
/** What stands for a password that is asked for. */
export const ASKED_FOR = '-'

/** Checks options by the rules that hold for requests, and tells every fault at once. */
export function checkInput<Value>(work: (check: Check) => Value): Value {
  const faults: string[] = []
  const value = work((option, parsed, shouldBe) => {
    if (parsed !== undefined) return parsed
    faults.push(`${option}: should be ${shouldBe}`)
    return ''
  })
  if (faults.length > 0) throw new InvalidInput(faults)
  return value
}

/** A value that is undefined is a fault of the option. */
export type Check = (option: string, parsed: string | undefined, shouldBe: string) => string

export function checkEmail(check: Check, text: string): string {
  return check('--email', parseEmail(text), 'an e-mail address')
}

export function checkName(check: Check, option: string, text: string): string {
  return check(option, parseName(text), `1 to ${NAME_MAX_LENGTH} characters without control characters`)
}

export function checkPassword(check: Check, password: string): string {
  return check('--password', isPassword(password) ? password : undefined, `${PASSWORD_MIN_LENGTH} to ${PASSWORD_MAX_LENGTH} characters`)
}

/** The password itself or, where it is `-`, what a person types or the first line of what is piped in. */
export async function readPassword(option: string): Promise<string> {
  if (option !== ASKED_FOR) return option
  if (process.stdin.isTTY) return askPassword('Password: ')
  const input = await readAll(process.stdin)
  return input.split(/\r?\n/, 1)[0] ?? ''
}
