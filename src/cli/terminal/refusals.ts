import { REFUSALS, Refusal, type RefusalCode } from '../../model/refusal.ts'
import { explain } from '../../process/startup-errors.ts'
import { explainSystemError } from '../../shared/errors.ts'

/** Input that cannot be accepted. It lists every problem, so that one more try is enough. */
export class InvalidInput extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'InvalidInput'
    this.problems = problems
  }
}

/** Runs work on a file. The message of an error begins with `failure`, such as `users.json was not written`. */
export function explaining<Result>(failure: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw new Error(`${failure}: ${explainSystemError(error)}`, { cause: error })
  }
}

/** What an operator has to know besides, or does not have to do. */
const FOR_OPERATORS: Readonly<Partial<Record<RefusalCode, string>>> = {
  user_not_found: 'there is no such user',
  key_not_found: 'there is no such API key',
  session_not_found: 'there is no such session',
  email_taken: 'an account with this e-mail address already exists',
  last_admin: 'this is the last admin; make another account an admin first',
  revoke_last_admin: 'this is the last admin; make another account an admin first',
  unknown_scope: 'this scope does not exist; KEY_SCOPES lists those that do',
  too_many_keys: 'this account has 1,000 API keys, which is the maximum; delete one first',
}

/** The message of an error, one line for each problem. */
export function explainRefusal(error: unknown): readonly string[] {
  if (error instanceof InvalidInput) return error.problems
  if (!(error instanceof Refusal)) return explain(error)
  // The reason why a database cannot be reached helps a person at the command line, who knows its settings.
  if (error.code === 'unavailable') return [error.message]
  return [FOR_OPERATORS[error.code] ?? REFUSALS[error.code]]
}
