import { Refusal } from '../model/refusal.ts'
import type { Profile, Role } from '../model/user.ts'
import type { Passwords } from '../security/password.ts'
import type { Tokens } from '../security/token.ts'
import type { Database } from '../storage/database.ts'
import { enqueueMail } from '../storage/outbox.repository.ts'
import { insertUser } from '../storage/user.repository.ts'
import { emailKey } from './email.ts'
import { openSession, type TokenPair } from './sessions.ts'

export type Registration = Profile & { readonly password: string }

export type Accounts = {
  /** A new account that has yet to be verified, with a mail on its way and a session that works once it is. */
  register(registration: Registration, signal?: AbortSignal): Promise<TokenPair>
  /** A verified account, as an operator makes one. Gives its id. */
  create(registration: Registration, role: Role): Promise<number>
}

type Parts = {
  readonly db: Database
  readonly tokens: Tokens
  readonly passwords: Passwords
  readonly now: () => number
  /** Told after each commit that has put a mail into the outbox. */
  readonly mailWaits: () => void
}

export function createAccounts({ db, tokens, passwords, now, mailWaits }: Parts): Accounts {
  function newUser({ email, firstName, lastName }: Profile, passwordHash: string, role: Role, verified: boolean) {
    return { email, emailKey: emailKey(email), firstName, lastName, passwordHash, role, verified, createdAt: now() }
  }

  return {
    async register({ password, ...profile }, signal) {
      const passwordHash = await passwords.hash(password, signal)
      const pair = await db.transaction(async (tx) => {
        const userId = await insertUser(tx, newUser(profile, passwordHash, 'user', false))
        if (userId === undefined) throw new Refusal('email_taken')
        await enqueueMail(tx, 'verify', emailKey(profile.email), now())
        return openSession(tx, tokens, userId, now())
      })
      mailWaits()
      return pair
    },
    async create({ password, ...profile }, role) {
      const userId = await insertUser(db, newUser(profile, await passwords.hash(password), role, true))
      if (userId === undefined) throw new Refusal('email_taken')
      return userId
    },
  }
}
