import type { ApiKeys } from '../domain/api-keys.service.ts'
import { KeyChangesBody, KeyPath, KeysView, KeyView, keyView, NewKeyBody, NewKeyView, UserKeyPath } from './api-key.schemas.ts'
import type { App } from './app-type.ts'
import { Empty, refusals } from './replies.ts'
import { UserPath } from './user.schemas.ts'

export function apiKeyRoutes(app: App, apiKeys: ApiKeys): void {
  ownKeyRoutes(app, apiKeys)
  keysOfUserRoutes(app, apiKeys)
}

/** The caller's own keys. */
function ownKeyRoutes(app: App, apiKeys: ApiKeys): void {
  app.get(
    '/users/keys',
    { config: { access: 'user' }, schema: { response: { 200: KeysView, ...refusals(401, 404, 503) } } },
    async ({ caller }) => (await apiKeys.list(caller.user.id)).map(keyView),
  )

  app.post(
    '/users/keys',
    {
      config: { access: 'user', event: 'key_created' },
      schema: { body: NewKeyBody, response: { 200: NewKeyView, ...refusals(401, 404, 413, 422, 503) } },
    },
    async (request) => {
      const { name, scopes = [] } = request.body
      const key = await apiKeys.create(request.caller.user.id, { name, scopes })
      request.subject = key.id
      return { ...keyView(key), key: key.secret }
    },
  )

  app.get(
    '/users/keys/:key_id',
    { config: { access: 'user' }, schema: { params: KeyPath, response: { 200: KeyView, ...refusals(401, 404, 422, 503) } } },
    async ({ caller, params }) => keyView(await apiKeys.find(caller.user.id, params.key_id)),
  )

  app.patch(
    '/users/keys/:key_id',
    {
      config: { access: 'user', event: 'key_changed' },
      schema: { params: KeyPath, body: KeyChangesBody, response: { 200: KeyView, ...refusals(401, 404, 413, 422, 503) } },
    },
    async ({ caller, params, body: { name, is_active } }) =>
      keyView(await apiKeys.edit(caller.user.id, params.key_id, { name, isActive: is_active })),
  )

  app.delete(
    '/users/keys/:key_id',
    {
      config: { access: 'user', event: 'key_deleted' },
      schema: { params: KeyPath, response: { 204: Empty, ...refusals(401, 404, 413, 422, 503) } },
    },
    async ({ caller, params }, reply) => {
      await apiKeys.remove(caller.user.id, params.key_id)
      return reply.code(204).send()
    },
  )
}

/** Any user's keys, for an admin. */
function keysOfUserRoutes(app: App, apiKeys: ApiKeys): void {
  app.get(
    '/users/keys/by-user/:user_id',
    { config: { access: 'admin' }, schema: { params: UserPath, response: { 200: KeysView, ...refusals(401, 403, 404, 422, 503) } } },
    async ({ params }) => (await apiKeys.list(params.user_id)).map(keyView),
  )

  app.patch(
    '/users/keys/by-user/:user_id/:key_id',
    {
      config: { access: 'admin', event: 'key_changed' },
      schema: { params: UserKeyPath, body: KeyChangesBody, response: { 200: KeyView, ...refusals(401, 403, 404, 413, 422, 503) } },
    },
    async ({ params, body: { name, is_active } }) =>
      keyView(await apiKeys.edit(params.user_id, params.key_id, { name, isActive: is_active })),
  )

  app.delete(
    '/users/keys/by-user/:user_id/:key_id',
    {
      config: { access: 'admin', event: 'key_deleted' },
      schema: { params: UserKeyPath, response: { 204: Empty, ...refusals(401, 403, 404, 413, 422, 503) } },
    },
    async ({ params }, reply) => {
      await apiKeys.remove(params.user_id, params.key_id)
      return reply.code(204).send()
    },
  )
}
