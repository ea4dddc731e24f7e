import type { UserAdministration } from '../../domain/accounts/user-administration.service.ts'
import { parseEmail } from '../../domain/values/email.ts'
import type { User } from '../../model/user.ts'
import { InvalidInput } from '../terminal/refusals.ts'

export const USER_HINT = 'the id or the e-mail address of the account'
export const USERS_HINT = 'the ids or e-mail addresses of the accounts, or - to read them from standard input, one per line'

/** The user whom somebody means by an id or an e-mail address. */
export async function findUser(userAdministration: UserAdministration, reference: string): Promise<User> {
  if (/^\d+$/.test(reference)) return userAdministration.find(Math.min(Number(reference), Number.MAX_SAFE_INTEGER))
  const email = parseEmail(reference)
  if (email === undefined) throw new InvalidInput(['USER: should be an id or an e-mail address'])
  return userAdministration.findByEmail(email)
}
