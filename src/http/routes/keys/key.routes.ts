import type { ApiKeys } from '../../../domain/keys/keys.service.ts'
import { described, Empty, refusals } from '../../answers/replies.ts'
import { sendList } from '../../answers/serialize.ts'
import type { App } from '../../pipeline/declarations.ts'
import { createApiRoutes } from '../api-routes.ts'
import { UserPath } from '../users/user.schemas.ts'
import {
  DetailsQuery,
  KeyChangesBody,
  KeyPath,
  KeysView,
  KeyView,
  keyChanges,
  keyView,
  NewKeyBody,
  NewKeyView,
  UserKeyPath,
} from './key.schemas.ts'

export function apiKeyRoutes(app: App, apiKeys: ApiKeys): void {
  ownKeyRoutes(app, apiKeys)
  keysOfUserRoutes(app, apiKeys)
}

/** The caller's own keys. */
function ownKeyRoutes(app: App, apiKeys: ApiKeys): void {
  const api = createApiRoutes(app, 'API keys')
  api.get('/users/keys', {
    config: { access: 'user', acceptedKeys: 'read', writes: false },
    operationId: 'listApiKeys',
    summary: 'List your keys',
    description: 'In order of creation. The secrets are not shown.',
    querystring: DetailsQuery,
    response: { 200: described(KeysView, 'Your keys.'), ...refusals(401, 403, 'user_not_found', 503) },
    handle: async ({ actor, caller, query }, reply) =>
      sendList(reply, await apiKeys.list(actor, caller.user.id), (key) => keyView(key, query)),
  })

  api.post('/users/keys', {
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    operationId: 'createApiKey',
    summary: 'Create a key',
    description: 'The response contains the secret, which is never shown again.',
    querystring: DetailsQuery,
    body: NewKeyBody,
    response: {
      200: described(NewKeyView, 'The key, with its secret.'),
      ...refusals('too_many_keys', 401, 403, 'user_not_found', 413, 503),
    },
    handle: async ({ actor, caller, query, body }) => {
      const { name, scopes, access, expires_at } = body
      const key = await apiKeys.create(actor, caller.user.id, { name, scopes: scopes ?? [], access, expiresAt: expires_at ?? undefined })
      return { ...keyView(key, query), key: key.secret }
    },
  })

  api.get('/users/keys/:key_id', {
    config: { access: 'user', acceptedKeys: 'read', writes: false },
    operationId: 'getApiKey',
    summary: 'Get one of your keys',
    description: 'The secret is not shown. A key of another user is reported as not found.',
    params: KeyPath,
    querystring: DetailsQuery,
    response: { 200: described(KeyView, 'The key.'), ...refusals(401, 403, 'user_not_found', 'key_not_found', 503) },
    handle: async ({ caller, params, query }) => keyView(await apiKeys.find(caller.user.id, params.key_id), query),
  })

  api.patch('/users/keys/:key_id', {
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    operationId: 'updateApiKey',
    summary: 'Change one of your keys',
    description:
      'Renames, disables or enables the key, or sets its expiry. The change applies to the very next request. A key of another user is reported as not found.',
    params: KeyPath,
    querystring: DetailsQuery,
    body: KeyChangesBody,
    response: { 200: described(KeyView, 'The updated key.'), ...refusals(401, 403, 'user_not_found', 'key_not_found', 413, 503) },
    handle: async ({ actor, caller, params, query, body }) =>
      keyView(await apiKeys.edit(actor, caller.user.id, params.key_id, keyChanges(body)), query),
  })

  api.delete('/users/keys/:key_id', {
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    operationId: 'deleteApiKey',
    summary: 'Delete one of your keys',
    description: 'The key stops working at once and cannot be restored. A key of another user is reported as not found.',
    params: KeyPath,
    response: { 204: Empty, ...refusals(401, 403, 'user_not_found', 'key_not_found', 413, 503) },
    handle: ({ actor, caller, params }) => apiKeys.remove(actor, caller.user.id, params.key_id),
  })
}

/** Any user's keys, for an admin. */
function keysOfUserRoutes(app: App, apiKeys: ApiKeys): void {
  const api = createApiRoutes(app, 'API keys of users')
  api.get('/users/keys/by-user/:user_id', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    operationId: 'listApiKeysOfUser',
    summary: 'List the keys of a user',
    description: 'In order of creation. The secrets are not shown.',
    params: UserPath,
    querystring: DetailsQuery,
    response: { 200: described(KeysView, 'The keys of the user.'), ...refusals(401, 403, 'user_not_found', 503) },
    handle: async ({ actor, params, query }, reply) =>
      sendList(reply, await apiKeys.list(actor, params.user_id), (key) => keyView(key, query)),
  })

  api.patch('/users/keys/by-user/:user_id/:key_id', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    operationId: 'updateApiKeyOfUser',
    summary: 'Change a key of a user',
    description: 'Renames, disables or enables the key, or sets its expiry. The change applies to the very next request.',
    params: UserKeyPath,
    querystring: DetailsQuery,
    body: KeyChangesBody,
    response: {
      200: described(KeyView, 'The updated key.'),
      ...refusals(401, 403, 'user_not_found', 'key_not_found', 413, 503),
    },
    handle: async ({ actor, params, query, body }) =>
      keyView(await apiKeys.edit(actor, params.user_id, params.key_id, keyChanges(body)), query),
  })

  api.delete('/users/keys/by-user/:user_id/:key_id', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    operationId: 'deleteApiKeyOfUser',
    summary: 'Delete a key of a user',
    description: 'The key stops working at once and cannot be restored.',
    params: UserKeyPath,
    response: { 204: Empty, ...refusals(401, 403, 'user_not_found', 'key_not_found', 413, 503) },
    handle: ({ actor, params }) => apiKeys.remove(actor, params.user_id, params.key_id),
  })
}
