import type { Actor, Operator } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { ListedSession } from '../../model/session.ts'
import { countSessions, deleteSession, deleteSessionsOfUser, listSessions } from '../../storage/repositories/sessions/session.repository.ts'
import { findUserById } from '../../storage/repositories/users/user.repository.ts'
import type { ChangeTransaction } from '../changes/changes.ts'
import type { DomainParts } from '../changes/parts.ts'
import { trimSessions } from './open-session.ts'

/** The live sessions of one account, for its owner, an admin or an operator. */
export type UserSessions = {
  /** Newest first. */
  list(userId: number): Promise<ListedSession[]>
  revoke(by: Actor | Operator, userId: number, sessionId: string): Promise<void>
  /** Ends every session except the caller's own. Returns how many were ended. */
  revokeAll(by: Actor | Operator, userId: number): Promise<number>
}

// Far more than an account has, unless an older version opened them.
export const MAX_LISTED_SESSIONS = 1000

export function createUserSessions({ reads, changes, now }: Pick<DomainParts, 'reads' | 'changes' | 'now'>): UserSessions {
  return {
    async list(userId) {
      const sessions = await listSessions(reads, userId, now(), MAX_LISTED_SESSIONS)
      if (sessions.length === 0 && (await findUserById(reads, userId)) === undefined) throw new Refusal('user_not_found')
      return sessions
    },
    revoke: (by, userId, sessionId) =>
      changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        if (!(await deleteSession(tx, sessionId, userId, now()))) throw new Refusal('session_not_found')
        tx.record({ kind: 'session.revoked', target: userId, sessionId })
      }),
    async revokeAll(by, userId) {
      const { caller } = by
      const ownSession = caller !== 'operator' && caller.user.id === userId ? caller.sessionId : undefined
      const change = <Result>(work: (tx: ChangeTransaction) => Promise<Result>) => changes.toAccount(by, { userId, allowed: 'owner' }, work)
      await trimSessions(reads, change, userId, ownSession)
      return change(async (tx) => {
        const live = await countSessions(tx, userId, now())
        await deleteSessionsOfUser(tx, userId, ownSession)
        const count = ownSession === undefined ? live : live - 1
        if (count > 0) tx.record({ kind: 'session.revoked', target: userId, count })
        return count
      })
    },
  }
}
