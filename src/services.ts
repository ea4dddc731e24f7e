import { type Accounts, createAccounts } from './domain/accounts/accounts.service.ts'
import { createPasswordReset, type PasswordReset } from './domain/accounts/password-reset.service.ts'
import { createUserAdministration, type UserAdministration } from './domain/accounts/user-administration.service.ts'
import { createUsers, type Users } from './domain/accounts/users.service.ts'
import { NO_OBSERVER, type Observer } from './domain/observer.ts'
import { type ApiKeys, createApiKeys } from './domain/sessions/api-keys.service.ts'
import { type Authentication, createAuthentication } from './domain/sessions/authentication.service.ts'
import { createSessions, type Sessions } from './domain/sessions/sessions.service.ts'
import { createPasswords, type Passwords } from './security/password.ts'
import { createTokens, type Tokens } from './security/token.ts'
import type { Database } from './storage/database.ts'

/** What the rules stand on: in the service the real clock, in a test one that is moved. */
export type Parts = {
  readonly db: Database
  readonly secretKey: Uint8Array
  readonly now: () => number
  readonly passwords?: Passwords
  readonly observer?: Observer
  /** Called after each commit that queued a mail. */
  readonly onMailQueued?: () => void
}

export type Services = {
  readonly tokens: Tokens
  readonly authentication: Authentication
  readonly accounts: Accounts
  readonly sessions: Sessions
  readonly passwordReset: PasswordReset
  readonly users: Users
  readonly userAdministration: UserAdministration
  readonly apiKeys: ApiKeys
}

/** Builds the rules, for the service and for the command line alike. */
export function createServices(parts: Parts): Services {
  const { db, secretKey, now, passwords = createPasswords(), observer = NO_OBSERVER, onMailQueued = () => undefined } = parts
  const tokens = createTokens(secretKey, now)
  return {
    tokens,
    authentication: createAuthentication({ db, tokens, observer, now }),
    accounts: createAccounts({ db, tokens, passwords, observer, now, onMailQueued }),
    sessions: createSessions({ db, tokens, passwords, observer, now }),
    passwordReset: createPasswordReset({ db, tokens, passwords, observer, now, onMailQueued }),
    users: createUsers({ db, passwords, now }),
    userAdministration: createUserAdministration({ db, now }),
    apiKeys: createApiKeys({ db, now }),
  }
}
