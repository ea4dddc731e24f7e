import type { Origin } from '../../model/caller.ts'
import type { User } from '../../model/user.ts'
import { hashApiKey, hideApiKeys, isWellFormedApiKey } from '../../security/api-key-secret.ts'
import {
  deleteRetiringSecrets,
  disableApiKey,
  findApiKey,
  findSecretOwner,
  type KeyOwner,
} from '../../storage/repositories/keys/key.repository.ts'
import { lockAccounts } from '../../storage/repositories/users/user.repository.ts'
import type { DomainParts } from '../changes/changes.ts'
import { hasExpired } from './keys.service.ts'

/** A text that looks like a key and was found in public. */
export type FoundToken = { readonly token: string; readonly url?: string | undefined }

/** Whether a key works now. A suspended one works again when its owner is unbanned or verified. */
export type FoundKeyState = 'live' | 'disabled' | 'expired' | 'suspended'

/** A key of this service that was found somewhere. */
export type FoundKey = { readonly keyId: string; readonly name: string; readonly owner: User; readonly state: FoundKeyState }

export type LeakedKeys = ReturnType<typeof createLeakedKeys>

export function createLeakedKeys({ reads, changes, now }: Pick<DomainParts, 'reads' | 'changes' | 'now'>) {
  async function disable(origin: Origin, hash: string, userId: number, url: string | undefined): Promise<void> {
    await changes.withoutCaller(origin, async (tx) => {
      await lockAccounts(tx, userId, userId)
      // Since it was found, the key may have been deleted, or the secret may have ended with a rotation.
      const owner = await findSecretOwner(tx, hash, now())
      if (owner === undefined) return
      await deleteRetiringSecrets(tx, owner.keyId)
      if (await disableApiKey(tx, owner.keyId))
        tx.record({ kind: 'key.leaked', target: userId, keyId: owner.keyId, url: url === undefined ? undefined : hideApiKeys(url) })
    })
  }

  async function check(origin: Origin, { token, url }: FoundToken): Promise<boolean> {
    if (!isWellFormedApiKey(token)) return false
    const hash = hashApiKey(token)
    const owner = await findSecretOwner(reads, hash, now())
    if (owner?.isActive) await disable(origin, hash, owner.user.id, url)
    return owner !== undefined
  }

  function stateOf({ isActive, expiresAt, user }: KeyOwner): FoundKeyState {
    if (!isActive) return 'disabled'
    if (hasExpired({ expiresAt }, now())) return 'expired'
    return user.banned || !user.verified ? 'suspended' : 'live'
  }

  return {
    /** The key that has this secret, current or retiring; undefined if no key of this service has it. */
    async find(token: string): Promise<FoundKey | undefined> {
      const owner = isWellFormedApiKey(token) ? await findSecretOwner(reads, hashApiKey(token), now()) : undefined
      // Undefined if the key was deleted a moment ago.
      const key = owner && (await findApiKey(reads, owner.user.id, owner.keyId))
      return key && { keyId: key.id, name: key.name, owner: owner.user, state: stateOf(owner) }
    },
    /** Disables every key among the findings. Says for each finding whether it is a key of this service, disabled before or not. */
    async report(origin: Origin, findings: readonly FoundToken[]): Promise<boolean[]> {
      // The same key may be found in many places: the first finding disables it, and all of them are true.
      const checked = new Map<string, boolean>()
      for (const finding of findings) if (!checked.has(finding.token)) checked.set(finding.token, await check(origin, finding))
      return findings.map(({ token }) => checked.get(token) === true)
    },
  }
}
