import type { Actor } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { UserSecrets } from '../../model/user.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import { findUserById } from '../../storage/repositories/users/user.repository.ts'
import { foundUser, isConfirmed, requireReader } from '../changes/callers.ts'
import type { DomainParts } from '../changes/changes.ts'
import type { Limiter } from '../limits/rate-limits.service.ts'
import type { Users } from '../users/users.service.ts'
import { type PasswordProof, requireSamePassword } from './password-proof.ts'

export type PasswordChange = ReturnType<typeof createPasswordChange>

type Parts = Pick<DomainParts, 'reads' | 'now'> & { readonly proof: PasswordProof; readonly users: Pick<Users, 'replacePassword'> }

/** A new password that users choose for themselves. An account without a password gets its first one. */
export function createPasswordChange({ reads, now, proof, users }: Parts) {
  /** An account without a password has nothing to compare: its session has to be confirmed. */
  async function requireNone({ caller }: Actor): Promise<Pick<UserSecrets, 'passwordHash'>> {
    const { id, passwordHash } = foundUser(await findUserById(reads, caller.user.id))
    if (passwordHash !== NO_PASSWORD) throw new Refusal('wrong_credentials', `the current password of user ${id} is missing`)
    if (caller.key !== undefined) throw new Refusal('not_permitted', 'a key cannot be confirmed')
    if (!isConfirmed(caller, now())) throw new Refusal('confirmation_required')
    return { passwordHash }
  }

  return {
    /** Ends all other sessions of the account. A wrong password counts for the limits of the route. */
    async change(
      actor: Actor,
      { current, password }: { readonly current: string | undefined; readonly password: string },
      limiter: Pick<Limiter, 'attempt'>,
    ): Promise<void> {
      const { id, email } = actor.caller.user
      // Hashing is expensive: nothing is hashed for a caller whose access has ended.
      await requireReader(reads, actor.caller, now(), id)
      const proven =
        current === undefined ? await requireNone(actor) : await limiter.attempt(email, actor.origin, () => proof.ofCaller(actor, current))
      await users.replacePassword(actor, password, requireSamePassword(proven))
    },
  }
}
