import { type ListedSession, SESSION, SESSION_PROOF, SESSION_ROW, type Session, type SessionProof } from '../../../model/session.ts'
import { readUser, USER, type User } from '../../../model/user.ts'
import { hotRead, insertInto, type Queries, type Reads, statement, type Transaction } from '../../database.ts'
import { changes, finds, listsIn, runs } from '../../repository-functions.ts'

const CONFIRM = statement('update sessions set confirmed_at = $2, second_factor = second_factor or $3 where id = $1')
const INSERT = statement(insertInto(SESSION_ROW))
// `+ 0` keeps PostgreSQL from using the index on user_id, which would read all sessions of the user instead of one.
const FIND_USER = hotRead(
  ['text', 'bigint', 'bigint'],
  ([sessionId, userId, now]) => `select ${USER.columns}, ${SESSION_PROOF.columns} from sessions join users on users.id = sessions.user_id
  where sessions.id = ${sessionId} and sessions.user_id + 0 = ${userId} and sessions.expires_at > ${now}`,
  readSessionUser,
)
const DELETE_OF_USER = statement('delete from sessions where user_id = $1 and id <> $2')
const COUNT = statement<{ count: number }>('select count(*) as count from sessions where user_id = $1 and expires_at > $2')
const DELETE_OLDEST = statement(`
  delete from sessions where id in (
    select id from sessions where user_id = $1 and id <> $4 order by created_at desc, id limit $2 + 0 offset $3)`)

export type NewSession = Omit<Session, 'method' | 'secondFactor'> & Partial<Session>

/** The values of the columns, in their order. */
function readSessionUser(values: readonly unknown[]): SessionUser {
  return {
    user: readUser(values),
    hasFactor: Boolean(values[7]),
    secondFactor: Boolean(values[8]),
    confirmedAt: values[9] as number,
  }
}

export async function insertSession(tx: Transaction, session: NewSession): Promise<void> {
  await tx.run(INSERT, ...SESSION_ROW.toValues({ method: 'password', secondFactor: false, ...session }))
}

type SessionUser = SessionProof & { readonly user: User }

/** The user of a session that has not expired. Authentication by JWT costs this one statement. */
export function findSessionUser(db: Reads, sessionId: string, userId: number, now: number): Promise<SessionUser | undefined> {
  return db.first(FIND_USER, sessionId, userId, now)
}

/** When a session ends, unless it is revoked before. */
export const findSessionExpiry = finds<number, [sessionId: string]>('select expires_at from sessions where id = $1', (row) =>
  Number(row['expires_at']),
)

/** How a session was opened. */
export const findSessionMethod = finds<string, [sessionId: string]>('select method from sessions where id = $1', (row) =>
  String(row['method']),
)

/** False when there is no such live session. */
export const deleteSession = changes<Transaction, [sessionId: string, userId: number, now: number]>(
  'delete from sessions where id = $1 and user_id = $2 and expires_at > $3',
)

export async function deleteSessionsOfUser(tx: Transaction, userId: number, exceptSessionId = ''): Promise<void> {
  await tx.run(DELETE_OF_USER, userId, exceptSessionId)
}

/** The live sessions of a user, newest first. */
export const listSessions = listsIn<ListedSession, [userId: number, now: number, limit: number]>(
  SESSION,
  'where user_id = $1 and expires_at > $2 order by created_at desc, id limit $3',
)

/** Never moves the time back: another process may have seen the session later. */
export const recordSessionUse = runs<Queries, [sessionId: string, seenAt: number]>(
  'update sessions set last_seen_at = $2 where id = $1 and (last_seen_at is null or last_seen_at < $2)',
)

/** Its owner has shown who they are. A second factor stays. */
export async function confirmSession(tx: Transaction, sessionId: string, { at, withFactor }: Confirmation): Promise<void> {
  await tx.run(CONFIRM, sessionId, at, withFactor)
}
type Confirmation = { readonly at: number; readonly withFactor: boolean }

/** Those that expire after a moment: all of them after 0. */
export async function countSessions(db: Reads, userId: number, after = 0): Promise<number> {
  return (await db.first(COUNT, userId, after))?.count ?? 0
}

type OldSessions = { readonly kept: number; readonly limit: number; readonly exceptSessionId?: string | undefined }

/** Deletes the oldest sessions of a user beyond the newest `kept`, at most `limit` of them. Returns how many it deleted. */
export function deleteOldestSessions(tx: Transaction, userId: number, { kept, limit, exceptSessionId = '' }: OldSessions): Promise<number> {
  return tx.run(DELETE_OLDEST, userId, limit, kept, exceptSessionId)
}
