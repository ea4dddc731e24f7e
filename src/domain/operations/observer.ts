import type { EventKind } from '../../model/event.ts'
import type { FactorMethod } from '../../model/factor.ts'
import type { CHECK_LIMIT_NAMES } from '../values/plans.ts'
import type { LimitName } from '../values/rate-limits.ts'

/** Receives what the services count. The values are label values of the metrics (spec 4.5). */
export type Observer = {
  authFailure(method: AuthMethod, reason: AuthFailureReason): void
  keyValidation(status: KeyValidationStatus): void
  loginAttempt(status: LoginStatus): void
  secondFactorAttempt(method: FactorMethod, status: (typeof FACTOR_STATUSES)[number]): void
  /** A request exceeded a limit. */
  limited(limit: LimitName | (typeof CHECK_LIMIT_NAMES)[number]): void
  /** An event was committed. */
  recorded(kind: EventKind): void
}

export const AUTH_METHODS = ['jwt', 'refresh_token', 'verify_email', 'password_reset', 'email_change'] as const
export type AuthMethod = (typeof AUTH_METHODS)[number]
export const AUTH_FAILURES = [
  'invalid_token',
  'expired_token',
  'user_not_found',
  'banned_user',
  'unverified_user',
  'already_verified',
] as const
export type AuthFailureReason = (typeof AUTH_FAILURES)[number]
export const KEY_STATUSES = ['valid', 'invalid_format', 'not_found', 'inactive', 'expired', 'user_banned', 'user_unverified'] as const
export type KeyValidationStatus = (typeof KEY_STATUSES)[number]
export const LOGIN_STATUSES = ['success', 'invalid_password', 'banned', 'not_verified'] as const
export type LoginStatus = (typeof LOGIN_STATUSES)[number]
export const FACTOR_STATUSES = ['success', 'invalid'] as const

export const NO_OBSERVER: Observer = {
  authFailure: () => undefined,
  keyValidation: () => undefined,
  loginAttempt: () => undefined,
  secondFactorAttempt: () => undefined,
  limited: () => undefined,
  recorded: () => undefined,
}
