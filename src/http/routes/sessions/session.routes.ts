import type { Sessions } from '../../../domain/sessions/sessions.service.ts'
import { described, Empty, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { UserPath } from '../users/user.schemas.ts'
import { SessionPath, SessionsView, sessionsView, UserSessionPath } from './session.schemas.ts'

export function sessionRoutes(app: App, sessions: Sessions): void {
  ownSessionRoutes(app, sessions)
  sessionsOfUserRoutes(app, sessions)
}

/** The caller's own sessions. */
function ownSessionRoutes(app: App, sessions: Sessions): void {
  app.get(
    '/users/me/sessions',
    {
      config: { access: 'user', acceptedKeys: 'read', writes: false },
      schema: {
        operationId: 'listOwnSessions',
        summary: 'List your sessions',
        description: 'Newest first. `current` marks the session of this request; with an API key, none is marked.',
        tags: ['Sessions'],
        response: { 200: described(SessionsView, 'Your sessions.'), ...refusals(401, 403, 'user_not_found', 503) },
      },
    },
    async ({ caller }) => sessionsView(await sessions.list(caller.user.id), caller.sessionId),
  )

  app.delete(
    '/users/me/sessions',
    {
      config: { access: 'user', acceptedKeys: 'full', writes: true },
      schema: {
        operationId: 'revokeOtherSessions',
        summary: 'End your other sessions',
        description: 'Ends every session except the one of this request. With an API key, ends all of them.',
        tags: ['Sessions'],
        response: { 204: Empty, ...refusals(401, 403, 'user_not_found', 413, 503) },
      },
    },
    async ({ actor, caller }, reply) => {
      await sessions.revokeAll(actor, caller.user.id)
      return reply.code(204).send()
    },
  )

  app.delete(
    '/users/me/sessions/:session_id',
    {
      config: { access: 'user', acceptedKeys: 'full', writes: true },
      schema: {
        operationId: 'revokeOwnSession',
        summary: 'End one of your sessions',
        description: 'Its tokens stop working with the next request.',
        tags: ['Sessions'],
        params: SessionPath,
        response: { 204: Empty, ...refusals(401, 403, 'user_not_found', 'session_not_found', 413, 503) },
      },
    },
    async ({ actor, caller, params }, reply) => {
      await sessions.revoke(actor, caller.user.id, params.session_id)
      return reply.code(204).send()
    },
  )
}

/** Any user's sessions, for an admin. */
function sessionsOfUserRoutes(app: App, sessions: Sessions): void {
  app.get(
    '/users/:user_id/sessions',
    {
      config: { access: 'admin', acceptedKeys: 'read', writes: false },
      schema: {
        operationId: 'listSessionsOfUser',
        summary: 'List the sessions of a user',
        description: 'Newest first.',
        tags: ['Sessions of users'],
        params: UserPath,
        response: { 200: described(SessionsView, 'The sessions of the user.'), ...refusals(401, 403, 'user_not_found', 503) },
      },
    },
    async ({ caller, params }) => sessionsView(await sessions.list(params.user_id), caller.sessionId),
  )

  app.delete(
    '/users/:user_id/sessions',
    {
      config: { access: 'admin', acceptedKeys: 'full', writes: true },
      schema: {
        operationId: 'revokeSessionsOfUser',
        summary: 'End the sessions of a user',
        description: 'Ends every session of the user. Admins who end their own sessions keep the one of this request.',
        tags: ['Sessions of users'],
        params: UserPath,
        response: { 204: Empty, ...refusals(401, 403, 'user_not_found', 413, 503) },
      },
    },
    async ({ actor, params }, reply) => {
      await sessions.revokeAll(actor, params.user_id)
      return reply.code(204).send()
    },
  )

  app.delete(
    '/users/:user_id/sessions/:session_id',
    {
      config: { access: 'admin', acceptedKeys: 'full', writes: true },
      schema: {
        operationId: 'revokeSessionOfUser',
        summary: 'End one session of a user',
        description: 'Its tokens stop working with the next request.',
        tags: ['Sessions of users'],
        params: UserSessionPath,
        response: { 204: Empty, ...refusals(401, 403, 'user_not_found', 'session_not_found', 413, 503) },
      },
    },
    async ({ actor, params }, reply) => {
      await sessions.revoke(actor, params.user_id, params.session_id)
      return reply.code(204).send()
    },
  )
}
