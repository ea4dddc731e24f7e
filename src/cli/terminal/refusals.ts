import { Refusal, type RefusalCode } from '../../model/refusal.ts'
import { explain } from '../../process/startup-errors.ts'

/** What was typed cannot be taken. It is told whole, so that one more try is enough. */
export class InvalidInput extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'InvalidInput'
    this.faults = faults
  }
}

/** The refusals in the words of the command line. Some belong to requests alone; a code without words does not compile. */
const WORDS: Readonly<Record<RefusalCode, string>> = {
  not_authenticated: 'no credentials were given',
  token_invalid: 'the token is invalid',
  token_expired: 'the token has expired',
  key_invalid: 'the API key is invalid',
  key_inactive: 'the API key is inactive',
  not_permitted: 'this is not permitted',
  user_not_found: 'there is no such user',
  key_not_found: 'there is no such API key',
  email_taken: 'an account with this e-mail address exists already',
  wrong_credentials: 'the e-mail address or the password is wrong',
  login_banned: 'the account is banned',
  login_unverified: 'the account is not verified',
  ban_self: 'an account cannot ban itself',
  last_admin: 'this is the last admin; make another account an admin first',
  no_session: 'there is no session to end',
  too_many_keys: 'This user has 1,000 API keys, which is the maximum. Delete one first.',
  unavailable: 'the service is not available',
}

/** What went wrong, a line for each fault. */
export function explainRefusal(error: unknown): readonly string[] {
  if (error instanceof InvalidInput) return error.faults
  if (!(error instanceof Refusal)) return explain(error)
  // Why a database cannot be reached helps the person at the command line, who has its settings at hand.
  return [error.code === 'unavailable' ? error.message : WORDS[error.code]]
}
