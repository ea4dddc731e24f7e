import { Refusal, type RefusalCode } from '../../model/refusal.ts'
import { explain } from '../../process/startup-errors.ts'

/** Input that cannot be accepted. It lists every problem, so that one more try is enough. */
export class InvalidInput extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'InvalidInput'
    this.problems = problems
  }
}

/** The message for each refusal. Some happen to requests only; a code without a message does not compile. */
const MESSAGES: Readonly<Record<RefusalCode, string>> = {
  not_authenticated: 'no credentials were given',
  token_invalid: 'the token is invalid',
  token_expired: 'the token has expired',
  already_verified: 'the address is already verified',
  key_invalid: 'the API key is invalid',
  key_inactive: 'the API key is inactive',
  key_expired: 'the API key has expired',
  not_permitted: 'this is not permitted',
  user_not_found: 'there is no such user',
  key_not_found: 'there is no such API key',
  session_not_found: 'there is no such session',
  email_taken: 'an account with this e-mail address already exists',
  wrong_credentials: 'the e-mail address or the password is wrong',
  login_banned: 'the account is banned',
  login_unverified: 'the account is not verified',
  ban_self: 'an account cannot ban itself',
  last_admin: 'this is the last admin; make another account an admin first',
  no_session: 'there is no session to end',
  too_many_keys: 'this account has 1,000 API keys, which is the maximum; delete one first',
  too_many_requests: 'there were too many requests',
  expiry_in_past: 'the date of expiry should be in the future',
  no_key: 'only an API key can revoke itself',
  unavailable: 'the service is not available',
}

/** The message of an error, one line for each problem. */
export function explainRefusal(error: unknown): readonly string[] {
  if (error instanceof InvalidInput) return error.problems
  if (!(error instanceof Refusal)) return explain(error)
  // The reason why a database cannot be reached helps a person at the command line, who knows its settings.
  return [error.code === 'unavailable' ? error.message : MESSAGES[error.code]]
}
