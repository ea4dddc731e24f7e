import type { Caller } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { hashApiKey, isWellFormedApiKey } from '../../security/api-key-secret.ts'
import type { Claims, TokenKind, Tokens } from '../../security/token.ts'
import type { Database } from '../../storage/database.ts'
import { findKeyOwner } from '../../storage/repositories/api-key.repository.ts'
import { findSessionUser } from '../../storage/repositories/session.repository.ts'
import type { AuthFailureReason, AuthMethod, KeyValidationStatus, Observer } from '../observer.ts'
import { createKeyUse } from './key-use.ts'

export type Authentication = {
  byToken(token: string): Promise<Caller>
  byKey(key: string): Promise<Caller>
}

type Parts = { readonly db: Database; readonly tokens: Tokens; readonly observer: Observer; readonly now: () => number }

/** Who calls. Banned and verified are read from the database each time, so that a change is felt by the very next request. */
export function createAuthentication({ db, tokens, observer, now }: Parts): Authentication {
  const noteUse = createKeyUse(db, now)

  function tokenRefused(reason: AuthFailureReason): Refusal {
    observer.authFailure('jwt', reason)
    return new Refusal('token_invalid', reason)
  }

  function keyRefused(status: KeyValidationStatus): Refusal {
    observer.keyValidation(status)
    return new Refusal(status === 'inactive' ? 'key_inactive' : 'key_invalid', status)
  }

  return {
    async byToken(token) {
      const { userId, sessionId } = readToken(tokens, observer, token, 'access', 'jwt')
      if (sessionId === undefined) throw tokenRefused('invalid_token')
      const user = await findSessionUser(db, sessionId, userId, now())
      // A revoked session and a deleted user look the same here, and are: the token is of no use.
      if (user === undefined) throw tokenRefused('user_not_found')
      if (user.banned) throw tokenRefused('banned_user')
      if (!user.verified) throw tokenRefused('unverified_user')
      return { user, sessionId, keyId: undefined }
    },
    async byKey(key) {
      if (!isWellFormedApiKey(key)) throw keyRefused('invalid_format')
      const owner = await findKeyOwner(db, hashApiKey(key))
      if (owner === undefined) throw keyRefused('not_found')
      if (owner.user.banned) throw keyRefused('user_banned')
      if (!owner.user.verified) throw keyRefused('user_unverified')
      if (!owner.isActive) throw keyRefused('inactive')
      observer.keyValidation('valid')
      noteUse(owner)
      return { user: owner.user, sessionId: undefined, keyId: owner.keyId }
    },
  }
}

/** Reads a token of one kind, and tells the observer when it is refused. */
export function readToken(tokens: Tokens, observer: Observer, token: string, kind: TokenKind, method: AuthMethod): Claims {
  try {
    return tokens.read(token, kind)
  } catch (error) {
    if (error instanceof Refusal) observer.authFailure(method, error.code === 'token_expired' ? 'expired_token' : 'invalid_token')
    throw error
  }
}
