import type { ApiKeys } from '../../../domain/keys/keys.service.ts'
import type { LeakedKeys } from '../../../domain/keys/leaked-keys.service.ts'
import { described, Empty, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { DetailsQuery, KeyPath, keyView, NewKeyView, RotationBody } from './key.schemas.ts'
import { FindingsBody, LabelsView } from './leaked-key.schemas.ts'

/** How a secret is replaced, given up or reported. */
export function keyLifecycleRoutes(app: App, apiKeys: ApiKeys, leakedKeys: LeakedKeys): void {
  app.post(
    '/users/keys/:key_id/rotate',
    {
      config: { access: 'user', acceptedKeys: 'full', writes: true },
      schema: {
        operationId: 'rotateApiKey',
        summary: 'Replace the secret of one of your keys',
        description:
          'The id, the name, the scopes, the access and the expiry stay. The former secret works until the overlap ends. A rotation without an overlap ends all former secrets at once, and so does disabling, deleting or the expiry of the key.',
        tags: ['API keys'],
        params: KeyPath,
        querystring: DetailsQuery,
        body: RotationBody,
        response: {
          200: described(NewKeyView, 'The key, with its new secret.'),
          ...refusals(401, 403, 'user_not_found', 'key_not_found', 413, 503),
        },
      },
    },
    async ({ actor, caller, params, query, body }) => {
      const key = await apiKeys.rotate(actor, caller.user.id, params.key_id, body.overlap_seconds)
      return { ...keyView(key, query.details), key: key.secret }
    },
  )

  app.delete(
    '/auth/key',
    {
      config: { access: 'user', acceptedKeys: 'any', writes: true },
      schema: {
        operationId: 'revokeOwnApiKey',
        summary: 'Disable the key of this request',
        description: 'For whoever finds a key that should not be where it is. Works with every key, whatever its access.',
        tags: ['API keys'],
        response: { 204: Empty, ...refusals('no_key', 401, 'user_not_found', 413, 503) },
      },
    },
    async ({ actor }, reply) => {
      await apiKeys.revokeOwn(actor)
      return reply.code(204).send()
    },
  )

  app.post(
    '/auth/leaked',
    {
      config: { access: 'public', writes: true, limits: { ip: 'leaked:ip' } },
      schema: {
        operationId: 'reportLeakedKeys',
        summary: 'Report keys that were found in public',
        description:
          'Disables every key among the tokens. The body and the response are those of the secret-scanning partner program of GitHub.',
        tags: ['API keys'],
        body: FindingsBody,
        response: { 200: described(LabelsView, 'A label for each token, in the same order.'), ...refusals(413, 429, 503) },
      },
    },
    async ({ origin, body }) => {
      const findings = body.map(({ token, url }) => ({ token, url }))
      const genuine = await leakedKeys.report(origin, findings)
      return body.map(({ token, type }, index) => ({
        token_raw: token,
        token_type: type,
        label: genuine[index] ? ('true_positive' as const) : ('false_positive' as const),
      }))
    },
  )
}
