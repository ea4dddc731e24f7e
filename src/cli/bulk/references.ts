import type { UserAdministration } from '../../domain/users/user-administration.service.ts'
import { parseEmail } from '../../domain/values/email.ts'
import type { User } from '../../model/user.ts'
import { FROM_INPUT, readLines } from '../terminal/input.ts'
import { InvalidInput } from '../terminal/refusals.ts'

export const USER_HINT = 'the id or the e-mail address of the account'
export const USERS_HINT = 'the ids or e-mail addresses of the accounts, or - to read them from standard input, one per line'

/** Returns each reference of the command line once; `-` stands for the lines of standard input. */
export async function readReferences(given: readonly string[]): Promise<string[]> {
  if (!given.includes(FROM_INPUT)) return [...new Set(given)]
  if (given.length > 1) throw new InvalidInput(['-: reads everything from standard input; do not combine it with other arguments'])
  const lines = (await readLines()).map((line) => line.trim())
  return [...new Set(lines.filter((line) => line !== '' && !line.startsWith('#')))]
}

/** Finds the user that an id or an e-mail address names. */
export async function findUser(userAdministration: UserAdministration, reference: string): Promise<User> {
  if (/^\d+$/.test(reference)) return userAdministration.find(Math.min(Number(reference), Number.MAX_SAFE_INTEGER))
  const email = parseEmail(reference)
  if (email === undefined) throw new InvalidInput(['USER: should be an id or an e-mail address'])
  return userAdministration.findByEmail(email)
}
