import { randomBytes } from 'node:crypto'
import type { Caller } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { LIFETIME_MINUTES, type Tokens } from '../../security/token.ts'
import type { Queries } from '../../storage/database.ts'
import { deleteSession, findSessionUser, insertSession } from '../../storage/repositories/session.repository.ts'
import { findUserByEmail, recordLogin } from '../../storage/repositories/user.repository.ts'
import type { AuthFailureReason, LoginStatus } from '../observer.ts'
import type { DomainParts } from '../parts.ts'
import { emailKey } from '../values/email.ts'
import { codePointLength, PASSWORD_MAX_LENGTH } from '../values/text.ts'
import { readToken } from './authentication.service.ts'

export type TokenPair = { readonly token: string; readonly refresh: string }

export type Sessions = {
  login(email: string, password: string, signal?: AbortSignal): Promise<TokenPair & { readonly userId: number }>
  /** A new access token; the refresh token stays as it is. */
  refresh(refreshToken: string): Promise<string>
  logout(caller: Caller): Promise<void>
}

const ID_BYTES = 16

export function createSessions({ db, tokens, passwords, observer, now }: Omit<DomainParts, 'onMailQueued'>): Sessions {
  function loginRefused(status: LoginStatus, code: 'wrong_credentials' | 'login_banned' | 'login_unverified', reason: string): Refusal {
    observer.loginAttempt(status)
    return new Refusal(code, reason)
  }

  function refreshRefused(reason: AuthFailureReason): Refusal {
    observer.authFailure('refresh_token', reason)
    return new Refusal('token_invalid', reason)
  }

  /** A hash at today's price when the stored one was made at a lower price. A busy moment is no reason to refuse a login. */
  async function strongerHash(password: string, passwordHash: string): Promise<string | undefined> {
    return passwords.needsRehash(passwordHash) ? await passwords.hash(password).catch(() => undefined) : undefined
  }

  return {
    async login(email, password, signal) {
      if (codePointLength(password) > PASSWORD_MAX_LENGTH)
        throw loginRefused('invalid_password', 'wrong_credentials', 'the password is longer than any can be')
      const user = await findUserByEmail(db, emailKey(email))
      const isMatch = await passwords.matches(password, user?.passwordHash, signal)
      if (user === undefined) throw loginRefused('invalid_password', 'wrong_credentials', 'no such account')
      if (!isMatch) throw loginRefused('invalid_password', 'wrong_credentials', `wrong password for user ${user.id}`)
      if (user.banned) throw loginRefused('banned', 'login_banned', `user ${user.id} is banned`)
      if (!user.verified) throw loginRefused('not_verified', 'login_unverified', `user ${user.id} is not verified`)
      const newHash = await strongerHash(password, user.passwordHash)
      const pair = await db.transaction(
        async (tx) => {
          if (!(await recordLogin(tx, user.id, user.passwordHash, now(), newHash))) return undefined
          return openSession(tx, tokens, user.id, now())
        },
        { signal },
      )
      if (pair === undefined)
        throw loginRefused('invalid_password', 'wrong_credentials', `the password of user ${user.id} changed meanwhile`)
      observer.loginAttempt('success')
      return { ...pair, userId: user.id }
    },
    async refresh(refreshToken) {
      const { userId, sessionId } = readToken(tokens, observer, refreshToken, 'refresh', 'refresh_token')
      if (sessionId === undefined) throw refreshRefused('invalid_token')
      const user = await findSessionUser(db, sessionId, userId, now())
      if (user === undefined) throw refreshRefused('user_not_found')
      if (user.banned) throw refreshRefused('banned_user')
      return tokens.forSession('access', userId, sessionId)
    },
    async logout({ user, sessionId }) {
      if (sessionId === undefined) throw new Refusal('no_session')
      await deleteSession(db, sessionId, user.id)
    },
  }
}

/** Opens a session and names it in two tokens. It ends when its refresh token does, unless it is revoked before. */
export async function openSession(db: Queries, tokens: Tokens, userId: number, now: number): Promise<TokenPair> {
  const id = randomBytes(ID_BYTES).toString('base64url')
  await insertSession(db, { id, userId, createdAt: now, expiresAt: now + LIFETIME_MINUTES.refresh * 60_000 })
  return { token: tokens.forSession('access', userId, id), refresh: tokens.forSession('refresh', userId, id) }
}
