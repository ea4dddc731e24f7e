import type { Actor, Operator, Origin } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { Role } from '../../model/user.ts'
import { enqueueMail } from '../../storage/repositories/mail/mail.repository.ts'
import { findUserById, markVerified } from '../../storage/repositories/users/user.repository.ts'
import type { ChangeTransaction } from '../changes/changes.ts'
import type { DomainParts } from '../changes/parts.ts'
import type { AuthFailureReason } from '../operations/observer.ts'
import { openSession, type TokenPair } from '../sessions/open-session.ts'
import { readToken } from '../sessions/read-token.ts'
import { addAccount, createUser, type Registration } from '../users/user-creation.ts'
import { emailKey } from '../values/email.ts'

export type Accounts = {
  /** Creates an unverified account, queues its verification mail and opens a session that works once the account is verified. */
  register(origin: Origin, registration: Registration): Promise<TokenPair>
  /** The same without a session, for somebody who signs in later. */
  signUp(origin: Origin, registration: Registration): Promise<void>
  /** Creates a verified account for an operator or an admin. Returns its id. */
  create(by: Actor | Operator, registration: Registration, role: Role): Promise<number>
  verify(origin: Origin, token: string): Promise<void>
  resendVerification(origin: Origin, email: string): Promise<void>
}

export function createAccounts({ reads, changes, tokens, passwords, observer, now, onMailQueued }: Omit<DomainParts, 'lists'>): Accounts {
  function verifyRefused(reason: AuthFailureReason): Refusal {
    observer.authFailure('verify_email', reason)
    const code = reason === 'user_not_found' || reason === 'already_verified' ? reason : 'token_invalid'
    return new Refusal(code, reason)
  }

  async function add<Opened>(
    origin: Origin,
    { password, ...profile }: Registration,
    open: (tx: ChangeTransaction, userId: number) => Promise<Opened>,
  ): Promise<Opened> {
    const passwordHash = await passwords.hash(password, origin.signal)
    const opened = await changes.withoutCaller(origin, async (tx) => {
      const userId = await addAccount(tx, { ...profile, passwordHash, role: 'user', verified: false, createdAt: now() })
      await enqueueMail(tx, 'verify', emailKey(profile.email), now())
      return open(tx, userId)
    })
    onMailQueued()
    return opened
  }

  return {
    register: (origin, registration) => add(origin, registration, (tx, userId) => openSession(tx, tokens, userId, origin, now())),
    signUp: (origin, registration) => add(origin, registration, async () => undefined),
    create: (by, registration, role) => createUser({ changes, passwords, now }, by, registration, role),
    async verify(origin, token) {
      const { userId, version } = readToken(tokens, observer, token, 'verify', 'verify_email')
      const user = await findUserById(reads, userId)
      if (user === undefined) throw verifyRefused('user_not_found')
      if (user.banned) throw verifyRefused('banned_user')
      if (user.verified) throw verifyRefused('already_verified')
      if (user.emailVersion !== version) throw verifyRefused('invalid_token')
      await changes.withoutCaller(origin, async (tx) => {
        // The state may have changed since it was read. The statement checks it again, so that only one of many parallel requests succeeds.
        if (!(await markVerified(tx, userId, version))) throw verifyRefused('already_verified')
        tx.record({ kind: 'user.verified', target: userId })
      })
    },
    async resendVerification(origin, email) {
      await changes.withoutCaller(origin, async (tx) => {
        await enqueueMail(tx, 'verify', emailKey(email), now())
        tx.record({ kind: 'mail.requested' })
      })
      onMailQueued()
    },
  }
}
