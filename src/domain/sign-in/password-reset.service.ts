import type { Origin } from '../../model/caller.ts'
import { deleteSessionsOfUser } from '../../storage/repositories/sessions/session.repository.ts'
import { findUserById, resetPassword } from '../../storage/repositories/users/user.repository.ts'
import { mailedTokenRefusal, readToken } from '../changes/callers.ts'
import type { ChangeTransaction, DomainParts } from '../changes/changes.ts'
import { trimSessions } from '../sessions/sessions.service.ts'
import { endIdentities } from './provider-accounts.ts'
import { requestMail } from './registration.service.ts'

export type PasswordReset = ReturnType<typeof createPasswordReset>

export function createPasswordReset(parts: Omit<DomainParts, 'lists'>) {
  const { reads, changes, tokens, passwords, observer } = parts
  const refused = mailedTokenRefusal(observer, 'password_reset')

  /** The account that a token may reset, with the version that it was issued for. */
  async function accept(token: string) {
    const { userId, version } = readToken(tokens, observer, token, 'reset', 'password_reset')
    const user = await findUserById(reads, userId)
    if (user === undefined) throw refused('user_not_found')
    if (user.banned) throw refused('banned_user')
    // A password change, an address change and a ban raise the version, which invalidates tokens issued before.
    if (user.resetVersion !== version) throw refused('invalid_token')
    return { userId, email: user.email, totp: user.totp, verified: user.verified, version }
  }

  return {
    /** Queues a mail. Costs the same whether or not the address has an account. */
    request: (origin: Origin, email: string) => requestMail(parts, origin, 'reset', email),
    /** Refuses a token that `reset` would refuse. */
    async check(token: string): Promise<void> {
      await accept(token)
    },
    /**
     * Sets the password and ends all sessions and all other resets of the account. Returns its address, unless its owner has a second
     * factor: a mail alone does not show that it was them.
     */
    async reset(origin: Origin, token: string, newPassword: string): Promise<string | undefined> {
      const { userId, email, totp, verified, version } = await accept(token)
      const passwordHash = await passwords.hash(newPassword, origin.signal)
      const endSessions = (work: (tx: ChangeTransaction) => Promise<void>) =>
        changes.withoutCaller(origin, async (tx) => {
          // Another use of the token may have come first. Its sessions are not this one's to end.
          if ((await findUserById(tx, userId))?.resetVersion !== version) throw refused('invalid_token')
          return work(tx)
        })
      await trimSessions(reads, endSessions, userId)
      await changes.withoutCaller(origin, async (tx) => {
        if (!(await resetPassword(tx, userId, passwordHash, version))) throw refused('invalid_token')
        await deleteSessionsOfUser(tx, userId)
        await endIdentities(tx, userId, verified ? 'unproven' : 'all')
        tx.record({ kind: 'user.password_reset', target: userId })
      })
      return totp ? undefined : email
    },
  }
}
