import { Refusal, type RefusalCode } from '../../model/refusal.ts'

/** Refusals of a password that was compared. A request that is refused for another reason, or fails, says nothing about a password. */
const GUESSES: ReadonlySet<RefusalCode> = new Set(['wrong_credentials', 'login_banned', 'login_unverified'] as const)

/** Whether a login that failed may have been a guess: then it counts. */
export function isGuess(error: unknown, signal: AbortSignal | undefined): boolean {
  return (error instanceof Refusal && GUESSES.has(error.code)) || hasDisconnected(signal)
}

/** A client could otherwise have any number of passwords hashed by disconnecting meanwhile. An expired deadline has a refusal as its reason. */
function hasDisconnected(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && !(signal.reason instanceof Refusal)
}
