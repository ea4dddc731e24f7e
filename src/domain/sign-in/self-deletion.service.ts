import type { Actor, Origin } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import { findUserById } from '../../storage/repositories/users/user.repository.ts'
import { requireReader } from '../changes/callers.ts'
import type { DomainParts } from '../changes/parts.ts'
import type { Limiter } from '../limits/rate-limits.service.ts'
import { removeAccount } from '../users/user-removal.ts'
import { codePointLength, PASSWORD_MAX_LENGTH } from '../values/text.ts'

export type SelfDeletion = {
  /** Deletes the account of the caller, with its sessions and API keys. A wrong password counts for the limits of the route. */
  remove(actor: Actor, password: string, limiter: Pick<Limiter, 'attempt'>): Promise<void>
}

type Parts = Pick<DomainParts, 'reads' | 'changes' | 'passwords' | 'now'> & {
  readonly noteFailedLogin: (userId: number, origin: Origin) => void
}

export function createSelfDeletion({ reads, changes, passwords, now, noteFailedLogin }: Parts): SelfDeletion {
  /** The hash that the password belongs to. A guess leaves the event of a failed login, and costs the same. */
  async function requirePassword({ caller, origin }: Actor, password: string): Promise<string> {
    const { id } = caller.user
    if (codePointLength(password) > PASSWORD_MAX_LENGTH) throw new Refusal('wrong_credentials', 'the password is longer than any valid one')
    const passwordHash = (await findUserById(reads, id))?.passwordHash
    const isMatch = await passwords.matches(password, passwordHash, origin.signal)
    if (!isMatch || passwordHash === undefined) {
      noteFailedLogin(id, origin)
      throw new Refusal('wrong_credentials', `wrong password for user ${id}`)
    }
    return passwordHash
  }

  return {
    async remove(actor, password, limiter) {
      const { id: userId, email } = actor.caller.user
      // Hashing is expensive: nothing is hashed for a caller whose access has ended.
      await requireReader(reads, actor.caller, now(), userId)
      const checkedHash = await limiter.attempt(email, actor.origin, () => requirePassword(actor, password))
      await removeAccount(changes, actor, {
        userId,
        allowed: 'owner',
        check({ passwordHash }) {
          if (passwordHash !== checkedHash) throw new Refusal('wrong_credentials', `the password of user ${userId} changed meanwhile`)
        },
      })
    },
  }
}
