import type { Sessions } from '../../../domain/sessions/sessions.service.ts'
import { type ListedSession, SESSION } from '../../../model/session.ts'
import { described, Empty } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { flag, nullable, type Static, Type, text, timestamp } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { UserId, UserPath } from '../users/user.schemas.ts'

const SessionId = text('The id of a session.', 'mJ0pW0Yb6sQ3kq7Xc2vTzA', { maxLength: 64 })

const SessionPath = Type.Object({ session_id: SessionId })
const UserSessionPath = Type.Object({ user_id: UserId, session_id: SessionId })

const SessionView = Type.Object(
  {
    id: SessionId,
    created_at: timestamp('When the user logged in, in UTC.'),
    last_seen_at: timestamp('When the session was last used, in UTC. Up to five minutes out of date.'),
    expires_at: timestamp('When the session ends, in UTC, unless it is revoked earlier.'),
    ip: nullable(text('The IP address of the login.', '203.0.113.9')),
    user_agent: nullable(text('The User-Agent header of the login, cut to 200 characters.', 'Mozilla/5.0')),
    method: text('How the session was opened: `password`, `passkey`, `email` or the name of a provider.', 'password'),
    second_factor: flag('Whether it was opened with a second factor, or confirmed with one later.', false),
    current: flag('Whether this request was made with the session.', true),
  },
  { title: 'Session', description: 'One login or registration.' },
)
const SessionsView = Type.Array(SessionView)

function sessionsView(sessions: readonly ListedSession[], currentId: string | undefined): Static<typeof SessionsView> {
  return sessions.map((session) => ({ ...SESSION.toJson(session), current: session.id === currentId }))
}

export function sessionRoutes(app: App, sessions: Sessions): void {
  const api = createApiRoutes(app, 'Sessions')
  api.get('/users/me/sessions', 'listOwnSessions', {
    config: { access: 'user', acceptedKeys: 'read', writes: false },
    summary: 'List your sessions',
    description: 'Newest first. `current` marks the session of this request; with an API key, none is marked.',
    response: { 200: described(SessionsView, 'Your sessions.'), refuses: ['user_not_found'] },
    handle: async ({ caller }) => sessionsView(await sessions.list(caller.user.id), caller.sessionId),
  })

  api.delete('/users/me/sessions', 'revokeOtherSessions', {
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    summary: 'End your other sessions',
    description: 'Ends every session except the one of this request. With an API key, ends all of them.',
    response: { 204: Empty, refuses: ['user_not_found'] },
    handle: ({ actor, caller }) => sessions.revokeAll(actor, caller.user.id),
  })

  api.delete('/users/me/sessions/:session_id', 'revokeOwnSession', {
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    summary: 'End one of your sessions',
    description: 'Its tokens stop working with the next request.',
    params: SessionPath,
    response: { 204: Empty, refuses: ['user_not_found', 'session_not_found'] },
    handle: ({ actor, caller, params }) => sessions.revoke(actor, caller.user.id, params.session_id),
  })

  // Any user's sessions, for an admin.
  const ofUsers = createApiRoutes(app, 'Sessions of users')
  ofUsers.get('/users/:user_id/sessions', 'listSessionsOfUser', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    summary: 'List the sessions of a user',
    description: 'Newest first.',
    params: UserPath,
    response: { 200: described(SessionsView, 'The sessions of the user.'), refuses: ['user_not_found'] },
    handle: async ({ caller, params }) => sessionsView(await sessions.list(params.user_id), caller.sessionId),
  })

  ofUsers.delete('/users/:user_id/sessions', 'revokeSessionsOfUser', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'End the sessions of a user',
    description: 'Ends every session of the user. Admins who end their own sessions keep the one of this request.',
    params: UserPath,
    response: { 204: Empty, refuses: ['user_not_found'] },
    handle: ({ actor, params }) => sessions.revokeAll(actor, params.user_id),
  })

  ofUsers.delete('/users/:user_id/sessions/:session_id', 'revokeSessionOfUser', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'End one session of a user',
    description: 'Its tokens stop working with the next request.',
    params: UserSessionPath,
    response: { 204: Empty, refuses: ['user_not_found', 'session_not_found'] },
    handle: ({ actor, params }) => sessions.revoke(actor, params.user_id, params.session_id),
  })
}
