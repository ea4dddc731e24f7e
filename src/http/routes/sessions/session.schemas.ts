import { type ListedSession, SESSION } from '../../../model/session.ts'
import { nullable, type Static, Type } from '../../validation/schema.ts'
import { UserId } from '../users/user.schemas.ts'

const SessionId = Type.String({ maxLength: 64, description: 'The id of a session.', examples: ['mJ0pW0Yb6sQ3kq7Xc2vTzA'] })
const TIMESTAMP = { format: 'date-time', examples: ['2026-01-31T09:30:00.000Z'] }

export const SessionPath = Type.Object({ session_id: SessionId })
export const UserSessionPath = Type.Object({ user_id: UserId, session_id: SessionId })

export const SessionView = Type.Object(
  {
    id: SessionId,
    created_at: Type.String({ ...TIMESTAMP, description: 'When the user logged in, in UTC.' }),
    last_seen_at: Type.String({ ...TIMESTAMP, description: 'When the session was last used, in UTC. Up to five minutes out of date.' }),
    expires_at: Type.String({ ...TIMESTAMP, description: 'When the session ends, in UTC, unless it is revoked earlier.' }),
    ip: nullable(Type.String({ description: 'The IP address of the login.', examples: ['203.0.113.9'] })),
    user_agent: nullable(
      Type.String({ description: 'The User-Agent header of the login, cut to 200 characters.', examples: ['Mozilla/5.0'] }),
    ),
    current: Type.Boolean({ description: 'Whether this request was made with the session.', examples: [true] }),
  },
  { title: 'Session', description: 'One login or registration.' },
)
export const SessionsView = Type.Array(SessionView)

export function sessionsView(sessions: readonly ListedSession[], currentId: string | undefined): Static<typeof SessionsView> {
  return sessions.map((session) => ({ ...SESSION.toJson(session), current: session.id === currentId }))
}
