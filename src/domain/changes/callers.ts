import type { Caller, KeyCredential } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { User } from '../../model/user.ts'
import type { Claims, TokenKind, Tokens } from '../../security/token.ts'
import type { Reads } from '../../storage/database.ts'
import { findSecretOwner, type KeyOwner } from '../../storage/repositories/keys/key.repository.ts'
import { findSessionUser } from '../../storage/repositories/sessions/session.repository.ts'
import type { AuthFailureReason, AuthMethod, Observer } from '../operations/observer.ts'

/**
 * Reads an authenticated caller again: since then, their session or key may have ended, or their account may be banned, deleted or
 * no longer verified.
 * Returns the user as they are in the database now.
 */
export async function requireCaller(db: Reads, caller: Caller, now: number): Promise<User> {
  return caller.key === undefined ? requireSession(db, caller, now) : (await requireKey(db, caller.key, now)).user
}

async function requireSession(db: Reads, { user, sessionId }: Caller, now: number): Promise<User> {
  const found = sessionId === undefined ? undefined : await findSessionUser(db, sessionId, user.id, now)
  if (found === undefined) throw new Refusal('token_invalid', 'the session has ended since authentication')
  if (found.user.banned || !found.user.verified) throw new Refusal('token_invalid', 'banned or not verified since authentication')
  return found.user
}

/** Like requireCaller(), for a key. Its expiry may have changed since authentication too. */
export async function requireKey(db: Reads, { hash }: KeyCredential, now: number): Promise<KeyOwner> {
  const found = await findSecretOwner(db, hash, now)
  if (found === undefined) throw new Refusal('key_invalid', 'the key was deleted or rotated since authentication')
  if (found.user.banned || !found.user.verified) throw new Refusal('key_invalid', 'banned or not verified since authentication')
  if (!found.isActive) throw new Refusal('key_inactive', 'the key was disabled since authentication')
  if (found.expiresAt !== undefined && found.expiresAt <= now) throw new Refusal('key_expired', 'the key has expired since authentication')
  return found
}

/** The user that was looked up. Refuses if there is none. */
export function foundUser<Found>(user: Found | undefined): Found {
  if (user === undefined) throw new Refusal('user_not_found')
  return user
}

/** Throws if the caller may no longer read or change what belongs to an owner, or to nobody. Admins may always, and users what is theirs. */
export async function requireReader(db: Reads, caller: Caller, now: number, ownerId?: number): Promise<void> {
  const { id, role } = await requireCaller(db, caller, now)
  if (role !== 'admin' && id !== ownerId) throw new Refusal('not_permitted', 'no longer an admin')
}

/** Returns the function that counts and refuses the use of a mailed token. */
export function mailedTokenRefusal(observer: Observer, method: AuthMethod): (reason: AuthFailureReason) => Refusal {
  return (reason) => {
    observer.authFailure(method, reason)
    return new Refusal(reason === 'user_not_found' || reason === 'already_verified' ? reason : 'token_invalid', reason)
  }
}

/** For how long a session counts as confirmed. */
const CONFIRMED_FOR_MS = 10 * 60_000

/** Whether the caller has opened or confirmed the session lately. A key never has. */
export function isConfirmed({ confirmedAt = 0 }: Caller, now: number): boolean {
  return now - confirmedAt < CONFIRMED_FOR_MS
}

/** The content of a token that must be of one kind; undefined for any other text. For links that say no more than that they do not work. */
export function claimsOf(tokens: Tokens, token: string, kind: TokenKind): Claims | undefined {
  try {
    return tokens.read(token, kind)
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

/** Reads a token that must be of one kind. A refusal is counted. */
export function readToken(tokens: Tokens, observer: Observer, token: string, kind: TokenKind, method: AuthMethod): Claims {
  try {
    return tokens.read(token, kind)
  } catch (error) {
    if (error instanceof Refusal) observer.authFailure(method, error.code === 'token_expired' ? 'expired_token' : 'invalid_token')
    throw error
  }
}
