import type { EventKind } from '../../model/event.ts'
import type { FactorMethod } from '../../model/factor.ts'
import type { CHECK_LIMIT_NAMES } from '../values/plans.ts'
import type { LimitName } from '../values/rate-limits.ts'

/** Receives what the services count. The values are label values of the metrics (spec 4.5). */
export type Observer = {
  authFailure(method: AuthMethod, reason: AuthFailureReason): void
  keyValidation(status: KeyValidationStatus): void
  loginAttempt(status: LoginStatus): void
  secondFactorAttempt(method: FactorMethod, status: 'success' | 'invalid'): void
  /** A request exceeded a limit. */
  limited(limit: LimitName | (typeof CHECK_LIMIT_NAMES)[number]): void
  /** An event was committed. */
  recorded(kind: EventKind): void
}

export type AuthMethod = 'jwt' | 'refresh_token' | 'verify_email' | 'password_reset' | 'email_change'
export type AuthFailureReason =
  | 'invalid_token'
  | 'expired_token'
  | 'user_not_found'
  | 'banned_user'
  | 'unverified_user'
  | 'already_verified'
export type KeyValidationStatus = 'valid' | 'invalid_format' | 'not_found' | 'inactive' | 'expired' | 'user_banned' | 'user_unverified'
export type LoginStatus = 'success' | 'invalid_password' | 'banned' | 'not_verified'

export const NO_OBSERVER: Observer = {
  authFailure: () => undefined,
  keyValidation: () => undefined,
  loginAttempt: () => undefined,
  secondFactorAttempt: () => undefined,
  limited: () => undefined,
  recorded: () => undefined,
}
