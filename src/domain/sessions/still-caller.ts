import type { Caller } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { User } from '../../model/user.ts'
import type { Transaction } from '../../storage/database.ts'
import { findSessionUser } from '../../storage/repositories/session.repository.ts'
import { findUserById } from '../../storage/repositories/user.repository.ts'

/**
 * Looks at a caller again, inside of the transaction that does what they asked for: between their check and their deed their session
 * may have ended, or they were banned or deleted. Without it, who hashes a new password while the owner resets theirs would win.
 */
export async function requireStillCaller(tx: Transaction, { user, sessionId }: Caller, now: number): Promise<User> {
  const found = await (sessionId === undefined ? findUserById(tx, user.id) : findSessionUser(tx, sessionId, user.id, now))
  const invalid = sessionId === undefined ? 'key_invalid' : 'token_invalid'
  if (found === undefined) throw new Refusal(invalid, 'ended meanwhile')
  if (found.banned) throw new Refusal(invalid, 'banned meanwhile')
  return found
}

export async function requireStillAdmin(tx: Transaction, caller: Caller, now: number): Promise<void> {
  const { role } = await requireStillCaller(tx, caller, now)
  if (role !== 'admin') throw new Refusal('not_permitted', 'no admin any more')
}
