import type { ApiKeys } from '../../../domain/keys/keys.service.ts'
import type { LeakedKeys } from '../../../domain/keys/leaked-keys.service.ts'
import { described, Empty, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { Type, text } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { DetailsQuery, KEY_EXAMPLE, KeyPath, keyView, NewKeyView, RotationBody } from './key.schemas.ts'

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
    config: { access: 'user', acceptedKeys: 'full', writes: true },
    operationId: 'rotateApiKey',
    summary: 'Replace the secret of one of your keys',
    description:
      'The id, the name, the scopes, the access and the expiry stay. The former secret works until the overlap ends. A rotation without an overlap ends all former secrets at once, and so does disabling, deleting or the expiry of the key.',
    params: KeyPath,
    querystring: DetailsQuery,
    body: RotationBody,
    response: {
      200: described(NewKeyView, 'The key, with its new secret.'),
      ...refusals(401, 403, 'user_not_found', 'key_not_found', 413, 503),
    },
    handle: async ({ actor, caller, params, query, body }) => {
      const key = await apiKeys.rotate(actor, caller.user.id, params.key_id, body.overlap_seconds)
      return { ...keyView(key, query), key: key.secret }
    },
  })

  api.delete('/auth/key', {
    config: { access: 'user', acceptedKeys: 'any', writes: true },
    operationId: 'revokeOwnApiKey',
    summary: 'Disable the key of this request',
    description: 'For whoever finds a key that should not be where it is. Works with every key, whatever its access.',
    response: { 204: Empty, ...refusals('no_key', 401, 'user_not_found', 413, 503) },
    handle: ({ actor }) => apiKeys.revokeOwn(actor),
  })

  api.post('/auth/leaked', {
    config: { access: 'public', writes: true, limits: { ip: 'leaked:ip' } },
    operationId: 'reportLeakedKeys',
    summary: 'Report keys that were found in public',
    description:
      'Disables every key among the tokens. The body and the response are those of the secret-scanning partner program of GitHub.',
    body: FindingsBody,
    response: { 200: described(LabelsView, 'A label for each token, in the same order.'), ...refusals(413, 429, 503) },
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
