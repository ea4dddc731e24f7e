import type { ApiKeys } from '../../../domain/keys/keys.service.ts'
import type { LeakedKeys } from '../../../domain/keys/leaked-keys.service.ts'
import { described, Empty } from '../../answers/replies.ts'
import { sendList } from '../../answers/serialize.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Type, text } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { UserPath } from '../users/user.schemas.ts'
import {
  DetailsQuery,
  KEY_EXAMPLE,
  KeyChangesBody,
  KeyPath,
  KeysView,
  KeyView,
  keyChanges,
  keyView,
  NewKeyBody,
  NewKeyView,
  newKey,
  newKeyView,
  RotationBody,
  UserKeyPath,
} from './key.schemas.ts'

export function apiKeyRoutes(app: App, apiKeys: ApiKeys): void {
  const api = createApiRoutes(app, 'API keys')
  api.get('/users/keys', {
    config: { access: 'user', acceptedKeys: 'read', writes: false },
    operationId: 'listApiKeys',
    summary: 'List your keys',
    description: 'In order of creation. The secrets are not shown.',
    querystring: DetailsQuery,
    response: { 200: described(KeysView, 'Your keys.'), refuses: ['user_not_found'] },
    handle: async ({ actor, caller, query }, reply) =>
      sendList(reply, await apiKeys.list(actor, caller.user.id), (key) => keyView(key, query)),
  })

  api.post('/users/keys', {
    config: { access: 'user', acceptedKeys: 'full', writes: true, guardsRole: true },
    operationId: 'createApiKey',
    summary: 'Create a key',
    description: 'The response contains the secret, which is never shown again.',
    querystring: DetailsQuery,
    body: NewKeyBody,
    response: { 200: described(NewKeyView, 'The key, with its secret.'), refuses: ['too_many_keys', 'user_not_found'] },
    handle: async ({ actor, caller, query, body }) => newKeyView(await apiKeys.create(actor, caller.user.id, newKey(body)), query),
  })

  api.get('/users/keys/:key_id', {
    config: { access: 'user', acceptedKeys: 'read', writes: false },
    operationId: 'getApiKey',
    summary: 'Get one of your keys',
    description: 'The secret is not shown. A key of another user is reported as not found.',
    params: KeyPath,
    querystring: DetailsQuery,
    response: { 200: described(KeyView, 'The key.'), refuses: ['user_not_found', 'key_not_found'] },
    handle: async ({ caller, params, query }) => keyView(await apiKeys.find(caller.user.id, params.key_id), query),
  })

  api.patch('/users/keys/:key_id', {
    config: { access: 'user', acceptedKeys: 'full', writes: true, guardsRole: true },
    operationId: 'updateApiKey',
    summary: 'Change one of your keys',
    description:
      'Renames, disables or enables the key, or sets its expiry or its limit. The change applies to the very next request. A key of another user is reported as not found.',
    params: KeyPath,
    querystring: DetailsQuery,
    body: KeyChangesBody,
    response: { 200: described(KeyView, 'The updated key.'), refuses: ['user_not_found', 'key_not_found'] },
    handle: async ({ actor, caller, params, query, body }) =>
      keyView(await apiKeys.edit(actor, caller.user.id, params.key_id, keyChanges(body)), query),
  })

  api.delete('/users/keys/:key_id', {
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    operationId: 'deleteApiKey',
    summary: 'Delete one of your keys',
    description: 'The key stops working at once and cannot be restored. A key of another user is reported as not found.',
    params: KeyPath,
    response: { 204: Empty, refuses: ['user_not_found', 'key_not_found'] },
    handle: ({ actor, caller, params }) => apiKeys.remove(actor, caller.user.id, params.key_id),
  })

  // Any user's keys, for an admin.
  const ofUsers = createApiRoutes(app, 'API keys of users')
  ofUsers.get('/users/keys/by-user/:user_id', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    operationId: 'listApiKeysOfUser',
    summary: 'List the keys of a user',
    description: 'In order of creation. The secrets are not shown.',
    params: UserPath,
    querystring: DetailsQuery,
    response: { 200: described(KeysView, 'The keys of the user.'), refuses: ['user_not_found'] },
    handle: async ({ actor, params, query }, reply) =>
      sendList(reply, await apiKeys.list(actor, params.user_id), (key) => keyView(key, query)),
  })

  ofUsers.post('/users/keys/by-user/:user_id', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    operationId: 'createApiKeyOfUser',
    summary: 'Create a key for a user',
    description: 'The key acts as this user. The response contains the secret, which is never shown again.',
    params: UserPath,
    querystring: DetailsQuery,
    body: NewKeyBody,
    response: { 200: described(NewKeyView, 'The key, with its secret.'), refuses: ['too_many_keys', 'user_not_found'] },
    handle: async ({ actor, params, query, body }) => newKeyView(await apiKeys.create(actor, params.user_id, newKey(body)), query),
  })

  ofUsers.patch('/users/keys/by-user/:user_id/:key_id', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    operationId: 'updateApiKeyOfUser',
    summary: 'Change a key of a user',
    description: 'Renames, disables or enables the key, or sets its expiry or its limit. The change applies to the very next request.',
    params: UserKeyPath,
    querystring: DetailsQuery,
    body: KeyChangesBody,
    response: { 200: described(KeyView, 'The updated key.'), refuses: ['user_not_found', 'key_not_found'] },
    handle: async ({ actor, params, query, body }) =>
      keyView(await apiKeys.edit(actor, params.user_id, params.key_id, keyChanges(body)), query),
  })

  ofUsers.delete('/users/keys/by-user/:user_id/:key_id', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    operationId: 'deleteApiKeyOfUser',
    summary: 'Delete a key of a user',
    description: 'The key stops working at once and cannot be restored.',
    params: UserKeyPath,
    response: { 204: Empty, refuses: ['user_not_found', 'key_not_found'] },
    handle: ({ actor, params }) => apiKeys.remove(actor, params.user_id, params.key_id),
  })
}

const MAX_FINDINGS = 100
const FOUND_TOKEN_MAX_LENGTH = 1000

const FoundToken = text('The text that looks like a key.', KEY_EXAMPLE, { minLength: 1, maxLength: FOUND_TOKEN_MAX_LENGTH })
const FoundType = text('The name that the scanner has for such keys.', 'latchkey_api_key', { maxLength: FOUND_TOKEN_MAX_LENGTH })

/** The body of GitHub's secret-scanning partner programme. */
const FindingsBody = Type.Array(
  Type.Object(
    {
      token: FoundToken,
      type: FoundType,
      url: Type.Optional(text('Where it was found.', 'https://github.com/octo/notes/blob/1/.env', { nullable: true, maxLength: 4000 })),
      source: Type.Optional(text('Where the scanner looked.', 'content', { nullable: true, maxLength: 100 })),
    },
    { title: 'FoundSecret', description: 'A secret that a scanner has found in public.' },
  ),
  { minItems: 1, maxItems: MAX_FINDINGS },
)

const LabelsView = Type.Array(
  Type.Object(
    {
      token_raw: FoundToken,
      token_type: FoundType,
      label: Type.Enum(['true_positive', 'false_positive'], {
        description: 'Whether it is a key of this service, disabled before or not.',
      }),
    },
    { title: 'SecretLabel', description: 'The judgement of a secret that was found.' },
  ),
)

/** How a secret is replaced, given up or reported. */
export function keyLifecycleRoutes(app: App, apiKeys: ApiKeys, leakedKeys: LeakedKeys): void {
  const api = createApiRoutes(app, 'API keys')
  api.post('/users/keys/:key_id/rotate', {
    config: { access: 'user', acceptedKeys: 'full', writes: true, guardsRole: true },
    operationId: 'rotateApiKey',
    summary: 'Replace the secret of one of your keys',
    description:
      'The id, the name, the scopes, the access and the expiry stay. The former secret works until the overlap ends. A rotation without an overlap ends all former secrets at once, and so does disabling, deleting or the expiry of the key.',
    params: KeyPath,
    querystring: DetailsQuery,
    body: RotationBody,
    response: { 200: described(NewKeyView, 'The key, with its new secret.'), refuses: ['user_not_found', 'key_not_found'] },
    handle: async ({ actor, caller, params, query, body }) =>
      newKeyView(await apiKeys.rotate(actor, caller.user.id, params.key_id, body.overlap_seconds), query),
  })

  api.delete('/auth/key', {
    config: { access: 'user', acceptedKeys: 'any', writes: true, worksWithoutFactor: true },
    operationId: 'revokeOwnApiKey',
    summary: 'Disable the key of this request',
    description: 'For whoever finds a key that should not be where it is. Works with every key, whatever its access.',
    response: { 204: Empty, refuses: ['no_key', 'user_not_found'] },
    handle: ({ actor }) => apiKeys.revokeOwn(actor),
  })

  api.post('/auth/leaked', {
    config: { access: 'public', writes: true, limits: { ip: 'leaked:ip' } },
    operationId: 'reportLeakedKeys',
    summary: 'Report keys that were found in public',
    description:
      'Disables every key among the tokens. The body and the response are those of the secret-scanning partner program of GitHub.',
    body: FindingsBody,
    response: { 200: described(LabelsView, 'A label for each token, in the same order.') },
    handle: async ({ origin, body }) => {
      const findings = body.map(({ token, url }) => ({ token, url }))
      const genuine = await leakedKeys.report(origin, findings)
      return body.map(({ token, type }, index) => ({
        token_raw: token,
        token_type: type,
        label: genuine[index] ? ('true_positive' as const) : ('false_positive' as const),
      }))
    },
  })
}
