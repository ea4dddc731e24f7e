import { Refusal } from '../../model/refusal.ts'
import type { Profile, Role } from '../../model/user.ts'
import { enqueueMail } from '../../storage/repositories/outbox.repository.ts'
import { findUserById, insertUser, markVerified } from '../../storage/repositories/user.repository.ts'
import type { AuthFailureReason } from '../observer.ts'
import type { DomainParts } from '../parts.ts'
import { readToken } from '../sessions/authentication.service.ts'
import { openSession, type TokenPair } from '../sessions/sessions.service.ts'
import { emailKey } from '../values/email.ts'

export type Registration = Profile & { readonly password: string }

export type Accounts = {
  /** A new account that has yet to be verified, with a mail on its way and a session that works once it is. */
  register(registration: Registration, signal?: AbortSignal): Promise<TokenPair & { readonly userId: number }>
  /** A verified account, as an operator makes one. Gives its id. */
  create(registration: Registration, role: Role): Promise<number>
  /** Gives the id of the account that the token has verified. */
  verify(token: string): Promise<number>
  resendVerification(email: string): Promise<void>
}

export function createAccounts({ db, tokens, passwords, observer, now, onMailQueued }: DomainParts): Accounts {
  function newUser({ email, firstName, lastName }: Profile, passwordHash: string, role: Role, verified: boolean) {
    return { email, emailKey: emailKey(email), firstName, lastName, passwordHash, role, verified, createdAt: now() }
  }

  function verifyRefused(reason: AuthFailureReason): Refusal {
    observer.authFailure('verify_email', reason)
    return new Refusal(reason === 'user_not_found' ? 'user_not_found' : 'token_invalid', reason)
  }

  return {
    async register({ password, ...profile }, signal) {
      const passwordHash = await passwords.hash(password, signal)
      const registered = await db.transaction(
        async (tx) => {
          const userId = await insertUser(tx, newUser(profile, passwordHash, 'user', false))
          if (userId === undefined) throw new Refusal('email_taken')
          await enqueueMail(tx, 'verify', emailKey(profile.email), now())
          return { userId, ...(await openSession(tx, tokens, userId, now())) }
        },
        { signal },
      )
      onMailQueued()
      return registered
    },
    async create({ password, ...profile }, role) {
      const userId = await insertUser(db, newUser(profile, await passwords.hash(password), role, true))
      if (userId === undefined) throw new Refusal('email_taken')
      return userId
    },
    async verify(token) {
      const { userId, version } = readToken(tokens, observer, token, 'verify', 'verify_email')
      const user = await findUserById(db, userId)
      if (user === undefined) throw verifyRefused('user_not_found')
      if (user.banned) throw verifyRefused('banned_user')
      if (user.verified) throw verifyRefused('already_verified')
      if (user.emailVersion !== version) throw verifyRefused('invalid_token')
      // The state may have changed since it was read: the statement checks it again, for one of many at once.
      if (!(await markVerified(db, userId, version))) throw verifyRefused('already_verified')
      return userId
    },
    async resendVerification(email) {
      await enqueueMail(db, 'verify', emailKey(email), now())
      onMailQueued()
    },
  }
}
