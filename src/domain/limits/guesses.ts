import { Refusal, type RefusalCode } from '../../model/refusal.ts'
import { hasBegun } from '../../security/password-queue.ts'

/** Refusals of a password, also of one that needs no comparison: it is longer than any. */
const GUESSES: ReadonlySet<RefusalCode> = new Set(['wrong_credentials', 'login_banned', 'login_unverified'] as const)

/**
 * Whether a login that failed counts: it may have been a guess, or a password was hashed for it, whatever happened then. Otherwise any
 * number of passwords could be hashed at a moment when all logins fail late.
 */
export function isCounted(error: unknown, signal: AbortSignal | undefined): boolean {
  return (error instanceof Refusal && GUESSES.has(error.code)) || hasBegun(signal) || hasDisconnected(signal)
}

/** A client that disconnects gets nothing back. An expired deadline has a refusal as its reason. */
function hasDisconnected(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && !(signal.reason instanceof Refusal)
}
