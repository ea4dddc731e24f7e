import type { Caller } from '../../model/caller.ts'
import { Refusal, type RefusalCode } from '../../model/refusal.ts'
import { hashApiKey, isWellFormedApiKey } from '../../security/api-key-secret.ts'
import { findSecretOwner, type KeyOwner } from '../../storage/repositories/keys/key.repository.ts'
import { findSessionUser } from '../../storage/repositories/sessions/session.repository.ts'
import { readToken } from '../changes/callers.ts'
import type { DomainParts } from '../changes/changes.ts'
import type { AuthFailureReason, KeyValidationStatus } from '../operations/observer.ts'

export type Authentication = ReturnType<typeof createAuthentication>

type Parts = Pick<DomainParts, 'reads' | 'tokens' | 'observer' | 'now'> & {
  /** Records that a key was used, without delaying the request. */
  readonly recordKeyUse: (owner: KeyOwner) => void
  /** Records that a session was used, without delaying the request. */
  readonly noteSessionUse: (sessionId: string) => void
}

/** Identifies the caller. Banned and verified are read from the database each time: a change applies from the next request on. */
export function createAuthentication({ reads, tokens, observer, now, recordKeyUse, noteSessionUse }: Parts) {
  function tokenRefused(reason: AuthFailureReason): Refusal {
    observer.authFailure('jwt', reason)
    return new Refusal('token_invalid', reason)
  }

  function keyRefused(status: KeyValidationStatus): Refusal {
    observer.keyValidation(status)
    return new Refusal(KEY_REFUSALS[status] ?? 'key_invalid', status)
  }

  return {
    async byToken(token: string): Promise<Caller> {
      const { userId, sessionId, expiresAt } = readToken(tokens, observer, token, 'access', 'jwt')
      if (sessionId === undefined) throw tokenRefused('invalid_token')
      const found = await findSessionUser(reads, sessionId, userId, now())
      // The session was revoked or the user was deleted.
      if (found === undefined) throw tokenRefused('user_not_found')
      const { user, hasFactor, secondFactor, confirmedAt } = found
      if (user.banned) throw tokenRefused('banned_user')
      if (!user.verified) throw tokenRefused('unverified_user')
      noteSessionUse(sessionId)
      return { user, sessionId, key: undefined, expiresAt, hasFactor, secondFactor, confirmedAt }
    },
    /** By the token in the cookie of the web pages. */
    async byPageToken(token: string): Promise<Caller> {
      const { userId, sessionId, expiresAt } = tokens.read(token, 'page')
      const found = sessionId === undefined ? undefined : await findSessionUser(reads, sessionId, userId, now())
      if (sessionId === undefined || found === undefined || found.user.banned || !found.user.verified)
        throw new Refusal('token_invalid', 'the session has ended')
      noteSessionUse(sessionId)
      return { ...found, sessionId, key: undefined, expiresAt }
    },
    async byKey(secret: string): Promise<Caller> {
      if (!isWellFormedApiKey(secret)) throw keyRefused('invalid_format')
      const hash = hashApiKey(secret)
      const owner = await findSecretOwner(reads, hash, now())
      if (owner === undefined) throw keyRefused('not_found')
      const { user, hasFactor, keyId: id, access, scopes, expiresAt, seq, limit, plan } = owner
      if (user.banned) throw keyRefused('user_banned')
      if (!user.verified) throw keyRefused('user_unverified')
      if (!owner.isActive) throw keyRefused('inactive')
      if (expiresAt !== undefined && expiresAt <= now()) throw keyRefused('expired')
      observer.keyValidation('valid')
      recordKeyUse(owner)
      return {
        user,
        sessionId: undefined,
        key: { id, hash, access, scopes, seq, limit, plan },
        expiresAt,
        hasFactor,
        secondFactor: hasFactor,
        confirmedAt: undefined,
      }
    },
  }
}

const KEY_REFUSALS: Partial<Record<KeyValidationStatus, RefusalCode>> = { inactive: 'key_inactive', expired: 'key_expired' }
