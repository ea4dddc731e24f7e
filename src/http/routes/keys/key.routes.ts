import type { ApiKeys, KeyWithSecret, NewApiKey } from '../../../domain/keys/keys.service.ts'
import type { LeakedKeys } from '../../../domain/keys/leaked-keys.service.ts'
import { MAX_OVERLAP_SECONDS, MAX_SCOPES, SCOPE_MAX_LENGTH } from '../../../domain/values/limits.ts'
import { type ApiKey, type ApiKeyChanges, KEY, KEY_VIEW, type KeyAccess } from '../../../model/api-key.ts'
import { described, Empty } from '../../answers/replies.ts'
import { sendList } from '../../answers/serialize.ts'
import type { App } from '../../pipeline/declarations.ts'
import { defaulted, flag, instant, integer, nameField, nullable, type Static, Type, text, timestamp } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { UserId, UserPath } from '../users/user.schemas.ts'

const KEY_EXAMPLE = 'lk_9Jf3mZq0sVb7TnXw2RkLh5YcUe8Gd1AoPi6Nt4MvQxE0a1B2c'
const KeyId = text('The id of a key.', '0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41', { format: 'uuid' })
const KeyName = nameField('What the key is for. Leading and trailing white space is removed.', 'Nightly export')
const Scope = Type.String({ minLength: 1, maxLength: SCOPE_MAX_LENGTH, examples: ['reports'] })
const IsActive = flag('Whether the key is accepted. A key that is not active can be activated again.', true)

export const KeyPath = Type.Object({ key_id: KeyId })
export const UserKeyPath = Type.Object({ user_id: UserId, key_id: KeyId })

const ACCESS: readonly KeyAccess[] = ['full', 'read', 'identify']
const KeyAccessName = Type.Enum([...ACCESS], {
  default: 'full',
  description:
    'What the key may call: `full` everything that its owner may call, `read` only GET endpoints, `identify` only endpoints that say who is calling.',
})
function keyLimit(description: string, rule: 'nullable' | 'clearable') {
  const LimitText = text(description, '10/m', { format: 'limit', maxLength: 12, [rule]: true })
  return Type.Optional(Type.Unsafe<string | null>(LimitText))
}

const EXPIRY_EXAMPLE = '2027-01-31T09:30:00.000Z'

const DetailsQuery = Type.Object({
  details: defaulted(
    Type.Boolean({
      default: false,
      description: 'Whether to add `prefix`, `access`, `expires_at`, `last_used_at`, `limit` and `retiring_until`.',
    }),
  ),
})

const NewKeyBody = Type.Object(
  {
    name: KeyName,
    scopes: Type.Optional(
      Type.Array(Scope, {
        maxItems: MAX_SCOPES,
        nullable: true,
        default: [],
        description:
          'Labels that are stored with the key. They do not restrict it. Where KEY_SCOPES is set, others are refused. Without this field, or with null, the key has none.',
        examples: [['reports']],
      }),
    ),
    access: defaulted(KeyAccessName),
    expires_at: Type.Optional(
      instant<null>(
        'When the key expires: ISO 8601 with an offset, in the future. Without this field, or with null, it does not expire.',
        EXPIRY_EXAMPLE,
        { nullable: true },
      ),
    ),
    limit: keyLimit(
      'How often services accept the key, such as `10/m`: a number per s, m, h or d. The limits of the plan apply too. Without this field, or with null, only those.',
      'nullable',
    ),
  },
  { title: 'NewApiKey', description: 'A new key.' },
)
const KeyChangesBody = Type.Object(
  {
    name: Type.Optional(KeyName),
    is_active: Type.Optional(IsActive),
    expires_at: Type.Optional(
      instant<null>('When the key expires: ISO 8601 with an offset, in the future. With null, it does not expire.', EXPIRY_EXAMPLE, {
        clearable: true,
      }),
    ),
    limit: keyLimit('How often services accept the key, such as `10/m`. With null, only the limits of the plan apply.', 'clearable'),
  },
  { title: 'ApiKeyChanges', description: 'Omitted fields keep their values. At least one field is required.', atLeastOne: true },
)

const RotationBody = Type.Object(
  {
    overlap_seconds: defaulted(
      integer('How long the former secret continues to work. With 0, all former secrets end at once.', 3600, {
        minimum: 0,
        maximum: MAX_OVERLAP_SECONDS,
        default: 0,
      }),
    ),
  },
  { title: 'ApiKeyRotation', description: 'How to replace the secret of a key. The body can be left out.', mayBeAbsent: true },
)

const DETAIL_FIELDS = {
  prefix: Type.Optional(
    nullable(
      text(
        'The first nine characters of the secret. Null for a key of an older version. Only with `details=true`, as all below.',
        'lk_9Jf3mZ',
      ),
    ),
  ),
  access: Type.Optional(Type.Enum([...ACCESS], { description: 'What the key may call.' })),
  expires_at: Type.Optional(nullable(timestamp('When the key expires. Null if it does not.', EXPIRY_EXAMPLE))),
  last_used_at: Type.Optional(
    nullable(timestamp('When the key was last used, to the minute. Null if it never was.', '2026-02-01T08:00:00.000Z')),
  ),
  limit: Type.Optional(nullable(text('How often services accept the key. Null if only the plan limits it.', '10/m'))),
  retiring_until: Type.Optional(
    nullable(timestamp('When the last former secret of the key stops working. Null if none works.', '2026-02-01T09:30:00.000Z')),
  ),
}

const KEY_FIELDS = {
  id: KeyId,
  name: text('What the key is for.', 'Nightly export'),
  created_at: timestamp('When the key was created, in UTC.'),
  is_active: IsActive,
  scopes: Type.Array(Type.String(), { description: 'The labels that are stored with the key.', examples: [['reports']] }),
}

const KeyView = Type.Object({ ...KEY_FIELDS, ...DETAIL_FIELDS }, { title: 'ApiKey', description: 'A key, without its secret.' })
const KeysView = Type.Array(KeyView)
/** The only view that contains the secret. */
const NewKeyView = Type.Object(
  {
    ...KEY_FIELDS,
    ...DETAIL_FIELDS,
    key: text('The secret: send it as `X-API-Key: …`. It is never shown again.', KEY_EXAMPLE),
  },
  { title: 'ApiKeyWithSecret', description: 'A key with a new secret.' },
)

function newKey({ name, scopes, access, expires_at, limit }: Static<typeof NewKeyBody>): NewApiKey {
  return { name, scopes: scopes ?? [], access, expiresAt: expires_at ?? undefined, limit: limit ?? undefined }
}

function keyChanges({ name, is_active, expires_at, limit }: Static<typeof KeyChangesBody>): ApiKeyChanges {
  return { name, isActive: is_active, expiresAt: expires_at, limit }
}

/** The view of a key; with details, the fields beyond the specified ones too. */
function keyView(key: ApiKey, { details }: Static<typeof DetailsQuery>): Static<typeof KeyView> {
  return (details ? KEY : KEY_VIEW).toJson(key)
}

function newKeyView(key: KeyWithSecret, query: Static<typeof DetailsQuery>): Static<typeof NewKeyView> {
  return { ...keyView(key, query), key: key.secret }
}

export function apiKeyRoutes(app: App, apiKeys: ApiKeys): void {
  const api = createApiRoutes(app, 'API keys')
  api.get('/users/keys', 'listApiKeys', {
    config: { access: 'user', acceptedKeys: 'read', writes: false },
    summary: 'List your keys',
    description: 'In order of creation. The secrets are not shown.',
    querystring: DetailsQuery,
    response: { 200: described(KeysView, 'Your keys.'), refuses: ['user_not_found'] },
    handle: async ({ actor, caller, query }, reply) =>
      sendList(reply, await apiKeys.list(actor, caller.user.id), (key) => keyView(key, query)),
  })

  api.post('/users/keys', 'createApiKey', {
    config: { access: 'user', acceptedKeys: 'full', writes: true, guardsRole: true },
    summary: 'Create a key',
    description: 'The response contains the secret, which is never shown again.',
    querystring: DetailsQuery,
    body: NewKeyBody,
    response: { 200: described(NewKeyView, 'The key, with its secret.'), refuses: ['too_many_keys', 'user_not_found'] },
    handle: async ({ actor, caller, query, body }) => newKeyView(await apiKeys.create(actor, caller.user.id, newKey(body)), query),
  })

  api.get('/users/keys/:key_id', 'getApiKey', {
    config: { access: 'user', acceptedKeys: 'read', writes: false },
    summary: 'Get one of your keys',
    description: 'The secret is not shown. A key of another user is reported as not found.',
    params: KeyPath,
    querystring: DetailsQuery,
    response: { 200: described(KeyView, 'The key.'), refuses: ['user_not_found', 'key_not_found'] },
    handle: async ({ caller, params, query }) => keyView(await apiKeys.find(caller.user.id, params.key_id), query),
  })

  api.patch('/users/keys/:key_id', 'updateApiKey', {
    config: { access: 'user', acceptedKeys: 'full', writes: true, guardsRole: true },
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

  api.delete('/users/keys/:key_id', 'deleteApiKey', {
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    summary: 'Delete one of your keys',
    description: 'The key stops working at once and cannot be restored. A key of another user is reported as not found.',
    params: KeyPath,
    response: { 204: Empty, refuses: ['user_not_found', 'key_not_found'] },
    handle: ({ actor, caller, params }) => apiKeys.remove(actor, caller.user.id, params.key_id),
  })

  // Any user's keys, for an admin.
  const ofUsers = createApiRoutes(app, 'API keys of users')
  ofUsers.get('/users/keys/by-user/:user_id', 'listApiKeysOfUser', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    summary: 'List the keys of a user',
    description: 'In order of creation. The secrets are not shown.',
    params: UserPath,
    querystring: DetailsQuery,
    response: { 200: described(KeysView, 'The keys of the user.'), refuses: ['user_not_found'] },
    handle: async ({ actor, params, query }, reply) =>
      sendList(reply, await apiKeys.list(actor, params.user_id), (key) => keyView(key, query)),
  })

  ofUsers.post('/users/keys/by-user/:user_id', 'createApiKeyOfUser', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'Create a key for a user',
    description: 'The key acts as this user. The response contains the secret, which is never shown again.',
    params: UserPath,
    querystring: DetailsQuery,
    body: NewKeyBody,
    response: { 200: described(NewKeyView, 'The key, with its secret.'), refuses: ['too_many_keys', 'user_not_found'] },
    handle: async ({ actor, params, query, body }) => newKeyView(await apiKeys.create(actor, params.user_id, newKey(body)), query),
  })

  ofUsers.patch('/users/keys/by-user/:user_id/:key_id', 'updateApiKeyOfUser', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
    summary: 'Change a key of a user',
    description: 'Renames, disables or enables the key, or sets its expiry or its limit. The change applies to the very next request.',
    params: UserKeyPath,
    querystring: DetailsQuery,
    body: KeyChangesBody,
    response: { 200: described(KeyView, 'The updated key.'), refuses: ['user_not_found', 'key_not_found'] },
    handle: async ({ actor, params, query, body }) =>
      keyView(await apiKeys.edit(actor, params.user_id, params.key_id, keyChanges(body)), query),
  })

  ofUsers.delete('/users/keys/by-user/:user_id/:key_id', 'deleteApiKeyOfUser', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true },
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
  api.post('/users/keys/:key_id/rotate', 'rotateApiKey', {
    config: { access: 'user', acceptedKeys: 'full', writes: true, guardsRole: true },
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

  api.delete('/auth/key', 'revokeOwnApiKey', {
    config: { access: 'user', acceptedKeys: 'any', writes: true, worksWithoutFactor: true },
    summary: 'Disable the key of this request',
    description: 'For whoever finds a key that should not be where it is. Works with every key, whatever its access.',
    response: { 204: Empty, refuses: ['no_key', 'user_not_found'] },
    handle: ({ actor }) => apiKeys.revokeOwn(actor),
  })

  api.post('/auth/leaked', 'reportLeakedKeys', {
    config: { access: 'public', writes: true, limits: { ip: 'leaked:ip' } },
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
