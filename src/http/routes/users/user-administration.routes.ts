import type { UserAdministration } from '../../../domain/users/user-administration.service.ts'
import { described, Empty, refusals } from '../../answers/replies.ts'
import { sendList } from '../../answers/serialize.ts'
import type { App } from '../../pipeline/declarations.ts'
import { createApiRoutes } from '../api-routes.ts'
import {
  FoundUsersView,
  foundUsersView,
  SearchQuery,
  toUserSearch,
  UserOrUsersView,
  UserPath,
  UserQuery,
  userView,
} from './user.schemas.ts'

/** Account management for admins. */
export function userAdministrationRoutes(app: App, administration: UserAdministration): void {
  listRoutes(app, administration)
  statusRoutes(app, administration)
  deletionRoute(app, administration)
}

function listRoutes(app: App, administration: UserAdministration): void {
  const api = createApiRoutes(app, 'User administration')
  api.get('/users/', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    operationId: 'listUsers',
    summary: 'List all users, or show one',
    description: 'In order of id. With `user_id`, the response is that user instead of a list.',
    querystring: UserQuery,
    response: {
      200: described(UserOrUsersView, 'All users, or the one that was requested.'),
      ...refusals(401, 403, 'user_not_found', 503),
    },
    handle: async ({ actor, query }, reply) => {
      if (query.user_id !== undefined) return userView(await administration.find(query.user_id))
      return sendList(reply, administration.list(actor), userView)
    },
  })

  api.get('/users/search', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    operationId: 'searchUsers',
    summary: 'Search for users',
    description: 'In order of id, a page at a time. `%` and `_` have no special meaning.',
    querystring: SearchQuery,
    response: { 200: described(FoundUsersView, 'One page of the results.'), ...refusals(401, 403, 503) },
    handle: async ({ query }) => {
      const search = toUserSearch(query)
      return foundUsersView(await administration.search(search), search)
    },
  })
}

/** What a user is: admin or not, banned or not. */
function statusRoutes(app: App, administration: UserAdministration): void {
  const api = createApiRoutes(app, 'User administration')
  api.post('/users/:user_id/make-admin', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    operationId: 'makeAdmin',
    summary: 'Make a user an admin',
    description: 'This cannot be undone over HTTP.',
    params: UserPath,
    response: { 204: Empty, ...refusals(401, 403, 'user_not_found', 413, 503) },
    handle: ({ actor, params }) => administration.makeAdmin(actor, params.user_id),
  })

  api.post('/users/:user_id/ban', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    operationId: 'banUser',
    summary: 'Ban a user',
    description: 'Takes effect with the next request: logins, sessions, API keys and password resets are refused.',
    params: UserPath,
    response: { 204: Empty, ...refusals('ban_self', 401, 403, 'user_not_found', 413, 503) },
    handle: ({ actor, params }) => administration.ban(actor, params.user_id),
  })

  api.post('/users/:user_id/unban', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    operationId: 'unbanUser',
    summary: 'Unban a user',
    description: 'Sessions and API keys work again as before.',
    params: UserPath,
    response: { 204: Empty, ...refusals(401, 403, 'user_not_found', 413, 503) },
    handle: ({ actor, params }) => administration.unban(actor, params.user_id),
  })
}

function deletionRoute(app: App, administration: UserAdministration): void {
  const api = createApiRoutes(app, 'User administration')
  api.delete('/users/:user_id', {
    // Older versions did not limit the number of keys, so a user may own very many.
    config: { access: 'admin', acceptedKeys: 'full', writes: true, deadlineMs: 25_000 },
    operationId: 'deleteUser',
    summary: 'Delete a user',
    description: 'Deletes the account and its API keys permanently. The last admin cannot be deleted.',
    params: UserPath,
    response: { 204: Empty, ...refusals('last_admin', 401, 403, 'user_not_found', 413, 503) },
    handle: ({ actor, params }) => administration.remove(actor, params.user_id),
  })
}
