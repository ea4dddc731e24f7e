import type { Actor, Origin } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { deleteSession, findSessionUser } from '../../storage/repositories/sessions/session.repository.ts'
import { recordLogin } from '../../storage/repositories/users/user.repository.ts'
import { readToken } from '../changes/callers.ts'
import type { DomainParts } from '../changes/changes.ts'
import type { AuthFailureReason, LoginStatus } from '../operations/observer.ts'
import { type OpenSession, openPageSession, openSession, type TokenPair } from '../sessions/sessions.service.ts'
import type { PasswordProof } from './password-proof.ts'

/** What a right password leads to. A caller switches over the kind, so that a further step of a login does not compile without it. */
export type LoginResult<Session> = { readonly kind: 'session'; readonly session: Session }

export type Login = {
  login(origin: Origin, email: string, password: string): Promise<LoginResult<TokenPair>>
  /** A login to the web pages. The session is the token for the cookie. */
  signIn(origin: Origin, email: string, password: string): Promise<LoginResult<string>>
  /** Checks the password of a caller once more. Returns a token for the cookie of the same session, which says when that was. */
  confirmPassword(actor: Actor, password: string): Promise<string>
  /** Returns a new access token. The refresh token is not replaced. */
  refresh(refreshToken: string): Promise<string>
  logout(actor: Actor): Promise<void>
}

type Parts = Omit<DomainParts, 'lists' | 'onMailQueued'> & {
  readonly proof: PasswordProof
  readonly noteFailedLogin: (userId: number, origin: Origin) => void
}

export function createLogin({ reads, changes, tokens, passwords, observer, now, proof, noteFailedLogin }: Parts): Login {
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

  async function logIn<Session>(
    origin: Origin,
    email: string,
    password: string,
    open: OpenSession<Session>,
  ): Promise<LoginResult<Session>> {
    const user = await proof.ofAddress(origin, email, password)
    if (user.banned || !user.verified) noteFailedLogin(user.id, origin)
    if (user.banned) throw loginRefused('banned', 'login_banned', `user ${user.id} is banned`)
    if (!user.verified) throw loginRefused('not_verified', 'login_unverified', `user ${user.id} is not verified`)
    const newHash = await strongerHash(password, user.passwordHash)
    const session = await changes.withoutCaller(origin, async (tx) => {
      if (!(await recordLogin(tx, user.id, user.passwordHash, now(), newHash)))
        throw loginRefused('invalid_password', 'wrong_credentials', `the account of user ${user.id} changed during the login`)
      return open(tx, tokens, user.id, origin, now())
    })
    observer.loginAttempt('success')
    return { kind: 'session', session }
  }

  return {
    login: (origin, email, password) => logIn(origin, email, password, openSession),
    signIn: (origin, email, password) => logIn(origin, email, password, openPageSession),
    async confirmPassword(actor, password) {
      const { user, sessionId } = actor.caller
      if (sessionId === undefined) throw new Refusal('no_session')
      await proof.ofCaller(actor, password)
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
