import type { Actor, Origin } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { MAX_LISTED_KINDS } from '../../security/foreign/foreign-hash.ts'
import type { Tokens } from '../../security/token.ts'
import { listForeignKinds } from '../../storage/repositories/import/import.repository.ts'
import { deleteSession, findSessionUser } from '../../storage/repositories/sessions/session.repository.ts'
import { findUserByEmail, findUserById, recordLogin } from '../../storage/repositories/users/user.repository.ts'
import type { ChangeTransaction } from '../changes/changes.ts'
import type { DomainParts } from '../changes/parts.ts'
import type { AuthFailureReason, LoginStatus } from '../operations/observer.ts'
import { openPageSession, openSession, type TokenPair } from '../sessions/open-session.ts'
import { readToken } from '../sessions/read-token.ts'
import { emailKey } from '../values/email.ts'
import { codePointLength, PASSWORD_MAX_LENGTH } from '../values/text.ts'

export type Sessions = {
  login(origin: Origin, email: string, password: string): Promise<TokenPair>
  /** A login to the web pages. Returns the token for the cookie. */
  signIn(origin: Origin, email: string, password: string): Promise<string>
  /** Checks the password of a caller once more. Returns a token for the cookie of the same session, which says when that was. */
  confirmPassword(actor: Actor, password: string): Promise<string>
  /** Returns a new access token. The refresh token is not replaced. */
  refresh(refreshToken: string): Promise<string>
  logout(actor: Actor): Promise<void>
}

type Parts = Omit<DomainParts, 'lists' | 'onMailQueued'> & {
  /** Counts a failed login of an existing account, without delaying the request. */
  readonly noteFailedLogin: (userId: number, origin: Origin) => void
}

export function createSessions({ reads, changes, tokens, passwords, observer, now, noteFailedLogin }: Parts): Sessions {
  function loginRefused(status: LoginStatus, code: 'wrong_credentials' | 'login_banned' | 'login_unverified', reason: string): Refusal {
    observer.loginAttempt(status)
    return new Refusal(code, reason)
  }

  function refreshRefused(reason: AuthFailureReason): Refusal {
    observer.authFailure('refresh_token', reason)
    return new Refusal('token_invalid', reason)
  }

  /** Hashes the password again if the stored hash is weaker than a new one. A full queue must not refuse a correct login. */
  async function strongerHash(password: string, passwordHash: string): Promise<string | undefined> {
    return passwords.needsRehash(passwordHash) ? await passwords.hash(password).catch(() => undefined) : undefined
  }

  async function logIn<Opened>(
    origin: Origin,
    email: string,
    password: string,
    open: (tx: ChangeTransaction, tokens: Tokens, userId: number, origin: Origin, now: number) => Promise<Opened>,
  ): Promise<Opened> {
    if (codePointLength(password) > PASSWORD_MAX_LENGTH)
      throw loginRefused('invalid_password', 'wrong_credentials', 'the password is longer than any valid one')
    passwords.requireRoom()
    const [user, foreignKinds] = await Promise.all([findUserByEmail(reads, emailKey(email)), listForeignKinds(reads, MAX_LISTED_KINDS)])
    const isMatch = await passwords.matches(password, user?.passwordHash, origin.signal, foreignKinds)
    if (user === undefined) throw loginRefused('invalid_password', 'wrong_credentials', 'no such account')
    // Counted after the password was compared, in memory: an attempt takes as long whether or not the account exists.
    if (!isMatch || user.banned || !user.verified) noteFailedLogin(user.id, origin)
    if (!isMatch) throw loginRefused('invalid_password', 'wrong_credentials', `wrong password for user ${user.id}`)
    if (user.banned) throw loginRefused('banned', 'login_banned', `user ${user.id} is banned`)
    if (!user.verified) throw loginRefused('not_verified', 'login_unverified', `user ${user.id} is not verified`)
    const newHash = await strongerHash(password, user.passwordHash)
    const opened = await changes.withoutCaller(origin, async (tx) => {
      if (!(await recordLogin(tx, user.id, user.passwordHash, now(), newHash)))
        throw loginRefused('invalid_password', 'wrong_credentials', `the account of user ${user.id} changed during the login`)
      return open(tx, tokens, user.id, origin, now())
    })
    observer.loginAttempt('success')
    return opened
  }

  return {
    login: (origin, email, password) => logIn(origin, email, password, openSession),
    signIn: (origin, email, password) => logIn(origin, email, password, openPageSession),
    async confirmPassword({ caller, origin }, password) {
      const { user, sessionId } = caller
      if (sessionId === undefined) throw new Refusal('no_session')
      const hash = (await findUserById(reads, user.id))?.passwordHash
      const isMatch = codePointLength(password) <= PASSWORD_MAX_LENGTH && (await passwords.matches(password, hash, origin.signal))
      if (!isMatch) {
        noteFailedLogin(user.id, origin)
        throw loginRefused('invalid_password', 'wrong_credentials', `wrong password for user ${user.id}`)
      }
      return tokens.forSession('page', user.id, sessionId)
    },
    async refresh(refreshToken) {
      const { userId, sessionId } = readToken(tokens, observer, refreshToken, 'refresh', 'refresh_token')
      if (sessionId === undefined) throw refreshRefused('invalid_token')
      const user = await findSessionUser(reads, sessionId, userId, now())
      if (user === undefined) throw refreshRefused('user_not_found')
      if (user.banned) throw refreshRefused('banned_user')
      return tokens.forSession('access', userId, sessionId)
    },
    async logout(actor) {
      const { user, sessionId } = actor.caller
      if (sessionId === undefined) throw new Refusal('no_session')
      await changes.toAccount(actor, { userId: user.id, allowed: 'owner' }, async (tx) => {
        if (await deleteSession(tx, sessionId, user.id, now())) tx.record({ kind: 'session.revoked', target: user.id, sessionId })
      })
    },
  }
}
