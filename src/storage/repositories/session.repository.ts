import type { Session } from '../../model/session.ts'
import type { User } from '../../model/user.ts'
import { hotRead, type Queries, type Reads, statement, type Transaction } from '../database.ts'
import { readUser, USER_COLUMNS } from './user.repository.ts'

const INSERT = statement('insert into sessions (id, user_id, created_at, expires_at) values ($1, $2, $3, $4)')
// `+ 0` keeps PostgreSQL from using the index on user_id, which would read all sessions of the user instead of one.
const FIND_USER = hotRead(
  `select ${USER_COLUMNS} from sessions join users on users.id = sessions.user_id
  where sessions.id = $1 and sessions.user_id + 0 = $2 and sessions.expires_at > $3`,
  ['text', 'bigint', 'bigint'],
  readUser,
)
const DELETE = statement('delete from sessions where id = $1 and user_id = $2')
const DELETE_OF_USER = statement('delete from sessions where user_id = $1')
const DELETE_OTHERS_OF_USER = statement('delete from sessions where user_id = $1 and id <> $2')
const COUNT = statement<{ count: number }>('select count(*) as count from sessions where user_id = $1')
const DELETE_OLDEST = statement(`
  delete from sessions where id in (
    select id from sessions where user_id = $1 order by created_at desc, id limit $2 offset $3)`)
const DELETE_EXPIRED = statement('delete from sessions where id in (select id from sessions where expires_at <= $1 limit $2)')

export async function insertSession(tx: Transaction, { id, userId, createdAt, expiresAt }: Session): Promise<void> {
  await tx.run(INSERT, id, userId, createdAt, expiresAt)
}

/** The user of a session that has not expired. Authentication by JWT costs this one statement. */
export function findSessionUser(db: Reads, sessionId: string, userId: number, now: number): Promise<User | undefined> {
  return db.first(FIND_USER, sessionId, userId, now)
}

/** Returns false if there is no such session. */
export async function deleteSession(tx: Transaction, sessionId: string, userId: number): Promise<boolean> {
  return (await tx.run(DELETE, sessionId, userId)) > 0
}

export async function deleteSessionsOfUser(tx: Transaction, userId: number, exceptSessionId?: string): Promise<void> {
  if (exceptSessionId === undefined) await tx.run(DELETE_OF_USER, userId)
  else await tx.run(DELETE_OTHERS_OF_USER, userId, exceptSessionId)
}

export async function countSessions(db: Reads, userId: number): Promise<number> {
  return (await db.first(COUNT, userId))?.count ?? 0
}

/** Deletes the oldest sessions of a user beyond the newest `kept`, at most `limit` of them. Returns how many it deleted. */
export async function deleteOldestSessions(tx: Transaction, userId: number, kept: number, limit: number): Promise<number> {
  return tx.run(DELETE_OLDEST, userId, limit, kept)
}

/** Deletes at most `limit` expired sessions. Returns how many it deleted. */
export async function deleteExpiredSessions(db: Queries, now: number, limit: number): Promise<number> {
  return db.run(DELETE_EXPIRED, now, limit)
}
