import type { OfflineTokens } from '../../../domain/identity/offline-tokens.service.ts'
import { KEY_SET_MAX_AGE_SECONDS, TOKEN_LIFETIME_SECONDS } from '../../../domain/identity/signing-key-times.ts'
import type { SigningKeys } from '../../../domain/identity/signing-keys.ts'
import { described, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/app-type.ts'
import { KeySetView, OfflineTokenBody, OfflineTokenView } from './offline-token.schemas.ts'

/** Tokens that other services verify without asking. `issuer` returns the URL of this service. */
export function offlineTokenRoutes(app: App, offlineTokens: OfflineTokens, signingKeys: SigningKeys, issuer: () => string): void {
  app.post(
    '/auth/token',
    {
      config: { access: 'user', acceptedKeys: 'identify', writes: true },
      schema: {
        operationId: 'issueOfflineToken',
        summary: 'Get a token that other services verify',
        description:
          'Services verify it with the public keys of `/.well-known/jwks.json`, without asking. A ban or a logout is therefore noticed only ' +
          'when it expires. This service itself does not accept it.',
        tags: ['Identity'],
        body: OfflineTokenBody,
        response: { 200: described(OfflineTokenView, 'The token.'), ...refusals(401, 403, 413, 503) },
      },
    },
    async ({ actor, body }) => {
      const { audience, lifetime_seconds: lifetimeSeconds = TOKEN_LIFETIME_SECONDS.default } = body
      const { token, expiresInSeconds } = await offlineTokens.issue(actor, { issuer: issuer(), audience, lifetimeSeconds })
      return { token, token_type: 'Bearer' as const, expires_in: expiresInSeconds }
    },
  )

  app.get(
    '/.well-known/jwks.json',
    {
      config: { access: 'public', writes: false },
      schema: {
        operationId: 'getKeySet',
        summary: 'Get the public keys of tokens',
        description: 'A new key is in the set for longer than caches keep the set before a token is signed with it.',
        tags: ['Identity'],
        response: { 200: described(KeySetView, 'The public keys.'), ...refusals(503) },
      },
    },
    async (_request, reply) => {
      const published = await signingKeys.published()
      // A set without a key must not be kept: the first key signs as soon as it exists.
      if (published.length > 0) reply.header('cache-control', `public, max-age=${KEY_SET_MAX_AGE_SECONDS}`)
      return { keys: published.map((text) => JSON.parse(text)) }
    },
  )
}
