import { Refusal } from '../../model/refusal.ts'
import { enqueueMail } from '../../storage/repositories/outbox.repository.ts'
import { deleteSessionsOfUser } from '../../storage/repositories/session.repository.ts'
import { findUserById, resetPassword } from '../../storage/repositories/user.repository.ts'
import type { AuthFailureReason } from '../observer.ts'
import type { DomainParts } from '../parts.ts'
import { readToken } from '../sessions/authentication.service.ts'
import { emailKey } from '../values/email.ts'

export type PasswordReset = {
  /** Asks for a mail, and costs the same whether or not an account belongs to the address. */
  request(email: string): Promise<void>
  /** Refuses a token that `reset` would refuse. */
  check(token: string): Promise<void>
  /** Sets the password and ends all sessions and all other resets of the account. Gives its id. */
  reset(token: string, newPassword: string, signal?: AbortSignal): Promise<number>
}

export function createPasswordReset({ db, tokens, passwords, observer, now, onMailQueued }: DomainParts): PasswordReset {
  function refused(reason: AuthFailureReason): Refusal {
    observer.authFailure('password_reset', reason)
    return new Refusal(reason === 'user_not_found' ? 'user_not_found' : 'token_invalid', reason)
  }

  /** The account that a token may reset, with the version that it was issued for. */
  async function accept(token: string): Promise<{ userId: number; version: number }> {
    const { userId, version } = readToken(tokens, observer, token, 'reset', 'password_reset')
    const user = await findUserById(db, userId)
    if (user === undefined) throw refused('user_not_found')
    if (user.banned) throw refused('banned_user')
    // A password change, an address change and a ban raise the version, and so end what was issued before.
    if (user.resetVersion !== version) throw refused('invalid_token')
    return { userId, version }
  }

  return {
    async request(email) {
      await enqueueMail(db, 'reset', emailKey(email), now())
      onMailQueued()
    },
    async check(token) {
      await accept(token)
    },
    async reset(token, newPassword, signal) {
      const { userId, version } = await accept(token)
      const passwordHash = await passwords.hash(newPassword, signal)
      const isReset = await db.transaction(
        async (tx) => {
          if (!(await resetPassword(tx, userId, passwordHash, version))) return false
          await deleteSessionsOfUser(tx, userId)
          return true
        },
        { signal },
      )
      if (!isReset) throw refused('invalid_token')
      return userId
    },
  }
}
