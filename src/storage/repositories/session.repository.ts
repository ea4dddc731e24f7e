import type { Session } from '../../model/session.ts'
import type { User } from '../../model/user.ts'
import { hotRead, type Queries, statement } from '../database.ts'
import { readUser, USER_COLUMNS } from './user.repository.ts'

const INSERT = statement('insert into sessions (id, user_id, created_at, expires_at) values ($1, $2, $3, $4)')
// The sum keeps PostgreSQL from going through all sessions of the user for the one that the key names.
const FIND_USER = hotRead(
  `select ${USER_COLUMNS} from sessions join users on users.id = sessions.user_id
  where sessions.id = $1 and sessions.user_id + 0 = $2 and sessions.expires_at > $3`,
  ['text', 'bigint', 'bigint'],
  readUser,
)
const DELETE = statement('delete from sessions where id = $1 and user_id = $2')
const DELETE_OF_USER = statement('delete from sessions where user_id = $1')
const DELETE_OTHERS_OF_USER = statement('delete from sessions where user_id = $1 and id <> $2')
const DELETE_OLDEST_OF_USER = statement(`
  delete from sessions where id in (select id from sessions where user_id = $1 order by created_at, id limit $2)`)
const DELETE_EXPIRED = statement('delete from sessions where id in (select id from sessions where expires_at <= $1 limit $2)')

export async function insertSession(db: Queries, { id, userId, createdAt, expiresAt }: Session): Promise<void> {
  await db.run(INSERT, id, userId, createdAt, expiresAt)
}

/** The user of a living session. This is the one statement that a request with a JWT costs. */
export function findSessionUser(db: Queries, sessionId: string, userId: number, now: number): Promise<User | undefined> {
  return db.first(FIND_USER, sessionId, userId, now)
}

export async function deleteSession(db: Queries, sessionId: string, userId: number): Promise<void> {
  await db.run(DELETE, sessionId, userId)
}

export async function deleteSessionsOfUser(db: Queries, userId: number, exceptSessionId?: string): Promise<void> {
  if (exceptSessionId === undefined) await db.run(DELETE_OF_USER, userId)
  else await db.run(DELETE_OTHERS_OF_USER, userId, exceptSessionId)
}

/** Deletes at most `limit` sessions of a user, the oldest first. Returns how many it deleted. */
export function deleteOldestSessionsOfUser(db: Queries, userId: number, limit: number): Promise<number> {
  return db.run(DELETE_OLDEST_OF_USER, userId, limit)
}

/** Deletes at most `limit` expired sessions. Returns how many it deleted. */
export async function deleteExpiredSessions(db: Queries, now: number, limit: number): Promise<number> {
  return db.run(DELETE_EXPIRED, now, limit)
}
