import type { Actor } from '../../model/caller.ts'
import { requireReader } from '../changes/callers.ts'
import type { DomainParts } from '../changes/changes.ts'
import type { Limiter } from '../limits/rate-limits.service.ts'
import { removeAccount } from '../users/user-administration.service.ts'
import { type PasswordProof, requireSamePassword } from './password-proof.ts'

export type SelfDeletion = ReturnType<typeof createSelfDeletion>

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'now'> & { readonly proof: PasswordProof }

export function createSelfDeletion({ reads, changes, now, proof }: Parts) {
  return {
    /** Deletes the account of the caller, with its sessions and API keys. A wrong password counts for the limits of the route. */
    async remove(actor: Actor, password: string, limiter: Pick<Limiter, 'attempt'>): Promise<void> {
      const { id: userId, email } = actor.caller.user
      // Hashing is expensive: nothing is hashed for a caller whose access has ended.
      await requireReader(reads, actor.caller, now(), userId)
      const proven = await limiter.attempt(email, actor.origin, () => proof.ofCaller(actor, password))
      await removeAccount(changes, actor, { userId, allowed: 'owner', now, check: requireSamePassword(proven) })
    },
  }
}
