import type { Actor, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { User, UserSecrets } from '../../model/user.ts'
import { deleteApiKeysOfUser } from '../../storage/repositories/keys/key.repository.ts'
import { deleteOldestSessions } from '../../storage/repositories/sessions/session.repository.ts'
import { deleteUser, hasOtherActiveAdmin, hasOtherAdmin } from '../../storage/repositories/users/user.repository.ts'
import type { AccountChange, Changes, ChangeTransaction } from '../changes/changes.ts'

export type Removal = Pick<AccountChange, 'userId' | 'allowed'> & {
  /** Refuses before anything is deleted. */
  readonly check?: ((target: User & UserSecrets) => void) | undefined
  /** Called with the number of deleted rows after each batch but the last. */
  readonly onProgress?: ((deletedRows: number) => void) | undefined
}

// On SQLite, which deletes on this thread, a batch of this size takes a few milliseconds.
const BATCH_SIZE = 100

/**
 * Deletes an account with its sessions and API keys, unless it is the last admin. An account of an older version may own any number of
 * rows: deleting them in one statement would delay every other write.
 */
export async function removeAccount(changes: Changes, by: Actor | Operator, removal: Removal): Promise<void> {
  const { userId, allowed, check, onProgress } = removal
  // An owner who leaves is not there to unban the other admins.
  const hasSuccessor = allowed === 'owner' ? hasOtherActiveAdmin : hasOtherAdmin
  const { sessionId: exceptSessionId, key } = by.caller === 'operator' ? {} : by.caller

  /** Returns the number of deleted rows. The account itself goes with the last batch. */
  function removeSome(remover: Actor | Operator, requireRemovable?: Removal['check']): Promise<number> {
    return changes.toAccount(remover, { userId, allowed, lock: 'admins' }, async (tx, target) => {
      requireRemovable?.(target)
      if (target.role === 'admin' && !(await hasSuccessor(tx, userId))) throw new Refusal('last_admin')
      // Callers who delete their own account need their credential until the end.
      const keys = await deleteApiKeysOfUser(tx, userId, BATCH_SIZE, key?.id)
      const sessions = await deleteOldestSessions(tx, userId, { kept: 0, limit: BATCH_SIZE, exceptSessionId })
      if (keys + sessions >= BATCH_SIZE) {
        recordBatch(tx, userId, keys, sessions)
      } else {
        await deleteUser(tx, userId)
        tx.record({ kind: 'user.deleted', target: userId })
      }
      return keys + sessions
    })
  }

  // Once begun, the deletion is completed even if the client disconnects.
  const persistent = { ...by, origin: { ...by.origin, signal: undefined } }
  let deleted = await removeSome(by, check)
  for (let rows = deleted; rows >= BATCH_SIZE; ) {
    onProgress?.(deleted)
    rows = await removeSome(persistent)
    deleted += rows
  }
}

/** The deletion may end after a batch, by a crash or because the caller loses their access: then its rows are gone and the account is not. */
function recordBatch(tx: ChangeTransaction, userId: number, keys: number, sessions: number): void {
  if (keys > 0) tx.record({ kind: 'key.revoked', target: userId, count: keys })
  if (sessions > 0) tx.record({ kind: 'session.revoked', target: userId, count: sessions })
}
