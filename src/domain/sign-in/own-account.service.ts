import type { Actor } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { UserSecrets } from '../../model/user.ts'
import { NO_PASSWORD } from '../../security/password.ts'
import { findUserById } from '../../storage/repositories/users/user.repository.ts'
import { foundUser, isConfirmed, requireReader } from '../changes/callers.ts'
import type { DomainParts } from '../changes/changes.ts'
import type { Limiter } from '../limits/rate-limits.service.ts'
import { removeAccount } from '../users/user-administration.service.ts'
import type { Users } from '../users/users.service.ts'
import { type PasswordProof, requireSamePassword } from './password-proof.ts'

export type OwnAccount = ReturnType<typeof createOwnAccount>

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & {
  readonly proof: PasswordProof
  readonly users: Pick<Users, 'replacePassword'>
}
/** The limits of the route. A wrong password counts for them. */
type Attempts = Pick<Limiter, 'attempt'>

/** What users do to their own account, and prove once more with their password who they are. */
export function createOwnAccount({ reads, changes, now, proof, users }: Parts) {
  async function prove(actor: Actor, password: string | undefined, limiter: Attempts): Promise<Pick<UserSecrets, 'passwordHash'>> {
    const { id, email } = actor.caller.user
    // Hashing is expensive: nothing is hashed for a caller whose access has ended.
    await requireReader(reads, actor.caller, now(), id)
    return password === undefined ? requireNone(actor) : limiter.attempt(email, actor.origin, () => proof.ofCaller(actor, password))
  }

  /** An account without a password has nothing to compare: its session has to be confirmed. */
  async function requireNone({ caller }: Actor): Promise<Pick<UserSecrets, 'passwordHash'>> {
    const { id, passwordHash } = foundUser(await findUserById(reads, caller.user.id))
    if (passwordHash !== NO_PASSWORD) throw new Refusal('wrong_credentials', `the current password of user ${id} is missing`)
    if (caller.key !== undefined) throw new Refusal('not_permitted', 'a key cannot be confirmed')
    if (!isConfirmed(caller, now())) throw new Refusal('confirmation_required')
    return { passwordHash }
  }

  return {
    /** Ends all other sessions of the account. An account without a password gets its first one. */
    async changePassword(
      actor: Actor,
      { current, password }: { readonly current: string | undefined; readonly password: string },
      limiter: Attempts,
    ): Promise<void> {
      await users.replacePassword(actor, password, requireSamePassword(await prove(actor, current, limiter)))
    },
    /** Deletes the account, with its sessions and API keys. */
    async remove(actor: Actor, password: string, limiter: Attempts): Promise<void> {
      const check = requireSamePassword(await prove(actor, password, limiter))
      await removeAccount(changes, actor, { userId: actor.caller.user.id, allowed: 'owner', now, check })
    },
  }
}
