import { randomBytes } from 'node:crypto'
import type { Actor, Operator, Origin } from '../../model/caller.ts'
import { Refusal } from '../../model/refusal.ts'
import type { ListedSession, Session } from '../../model/session.ts'
import { LIFETIME_MINUTES, type Tokens } from '../../security/token.ts'
import type { Reads } from '../../storage/database.ts'
import {
  confirmSession,
  countSessions,
  deleteOldestSessions,
  deleteSession,
  deleteSessionsOfUser,
  findSessionMethod,
  insertSession,
  listSessions,
} from '../../storage/repositories/sessions/session.repository.ts'
import { findUserById } from '../../storage/repositories/users/user.repository.ts'
import type { ChangeTransaction, DomainParts } from '../changes/changes.ts'

export type Sessions = ReturnType<typeof createSessions>

// Far more than an account has, unless an older version opened them.
export const MAX_LISTED_SESSIONS = 1000

/** The live sessions of one account, for its owner, an admin or an operator. */
export function createSessions({ reads, changes, now }: Pick<DomainParts, 'reads' | 'changes' | 'now'>) {
  return {
    /** Newest first. */
    async list(userId: number): Promise<ListedSession[]> {
      const sessions = await listSessions(reads, userId, now(), MAX_LISTED_SESSIONS)
      if (sessions.length === 0 && (await findUserById(reads, userId)) === undefined) throw new Refusal('user_not_found')
      return sessions
    },
    revoke: (by: Actor | Operator, userId: number, sessionId: string): Promise<void> =>
      changes.toAccount(by, { userId, allowed: 'owner' }, async (tx) => {
        if (!(await endSession(tx, userId, sessionId, now()))) throw new Refusal('session_not_found')
      }),
    /** Ends every session except the caller's own. Returns how many were ended. */
    async revokeAll(by: Actor | Operator, userId: number): Promise<number> {
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

export type TokenPair = { readonly token: string; readonly refresh: string }

const ID_BYTES = 16
/** The maximum number of sessions of one user. A login beyond it ends the oldest session. */
export const MAX_SESSIONS = 100
const DELETE_BATCH_SIZE = 500

/** Whose session it is, where and how it was opened, and when. */
export type Opening = Pick<Session, 'userId' | 'method' | 'secondFactor'> & {
  readonly origin: Origin
  readonly now: number
  /** When the owner showed who they are, if that was in another session. */
  readonly confirmedAt?: number
}

/** Opens a session in a transaction, and returns what its owner keeps of it. */
export type OpenSession<Kept> = (tx: ChangeTransaction, tokens: Tokens, opening: Opening) => Promise<Kept>

/** Opens a session and returns its two tokens. It ends when its refresh token expires, unless it is revoked earlier. */
export const openSession: OpenSession<TokenPair> = async (tx, tokens, opening) => (await openKnownSession(tx, tokens, opening)).pair

/** The same, for work that has to find the session again. */
export const openKnownSession: OpenSession<{ readonly id: string; readonly expiresAt: number; readonly pair: TokenPair }> = async (
  tx,
  tokens,
  opening,
) => {
  const { userId, now } = opening
  const id = await addSession(tx, opening, LIFETIME_MINUTES.refresh)
  const pair = { token: tokens.forSession('access', userId, id), refresh: tokens.forSession('refresh', userId, id) }
  return { id, expiresAt: now + LIFETIME_MINUTES.refresh * 60_000, pair }
}

/** Opens a session for the web pages and returns the token for its cookie, with which it ends. */
export const openPageSession: OpenSession<string> = async (tx, tokens, opening) => {
  return tokens.forSession('page', opening.userId, await addSession(tx, opening, LIFETIME_MINUTES.page))
}

/** Ends the session of a caller on the web pages, with every copy of its cookie, and opens another one. Returns the token for its cookie. */
export async function replacePageSession(tx: ChangeTransaction, tokens: Tokens, { caller, origin }: Actor, now: number): Promise<string> {
  const { user, sessionId, secondFactor } = caller
  if (sessionId === undefined) throw new Refusal('no_session')
  const method = (await findSessionMethod(tx, sessionId)) ?? 'password'
  await endSession(tx, user.id, sessionId, now)
  return openPageSession(tx, tokens, { userId: user.id, method, secondFactor, origin, now })
}

async function addSession(tx: ChangeTransaction, given: Opening, lifetimeMinutes: number): Promise<string> {
  const { origin, now, confirmedAt, ...opening } = given
  const { ip, userAgent } = origin
  const { userId } = opening
  const id = randomBytes(ID_BYTES).toString('base64url')
  await insertSession(tx, { id, ...opening, createdAt: now, expiresAt: now + lifetimeMinutes * 60_000, ip, userAgent })
  if (confirmedAt !== undefined) await confirmSession(tx, id, { at: confirmedAt, withFactor: false })
  tx.record({ kind: 'session.created', target: userId, sessionId: id })
  await endOldestSessions(tx, userId)
  return id
}

/** Returns false if there is no such live session. */
export async function endSession(tx: ChangeTransaction, userId: number, sessionId: string, now: number): Promise<boolean> {
  const isEnded = await deleteSession(tx, sessionId, userId, now)
  if (isEnded) tx.record({ kind: 'session.revoked', target: userId, sessionId })
  return isEnded
}

async function endOldestSessions(tx: ChangeTransaction, userId: number, exceptSessionId?: string): Promise<void> {
  const count = await deleteOldestSessions(tx, userId, { kept: MAX_SESSIONS, limit: DELETE_BATCH_SIZE, exceptSessionId })
  if (count > 0) tx.record({ kind: 'session.revoked', target: userId, count })
}

/** Runs one transaction of a change that ends sessions, with the checks of that change. */
type EndSessions = (work: (tx: ChangeTransaction) => Promise<void>) => Promise<unknown>

/**
 * Ends the sessions of a user beyond the maximum, in batches. An account of an older version may have any number of sessions; deleting
 * them in one statement would delay every other write.
 */
export async function trimSessions(reads: Reads, endSessions: EndSessions, userId: number, exceptSessionId?: string): Promise<void> {
  while ((await countSessions(reads, userId)) > MAX_SESSIONS + 1) await endSessions((tx) => endOldestSessions(tx, userId, exceptSessionId))
}
