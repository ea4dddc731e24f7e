import type { OfflineTokens } from '../../../domain/identity/offline-tokens.service.ts'
import { KEY_SET_MAX_AGE_SECONDS, type SigningKeys, TOKEN_LIFETIME_SECONDS } from '../../../domain/identity/signing-keys.ts'
import { described, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { integer, TOKEN_EXAMPLE, Type, text } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'

const OfflineTokenBody = Type.Object(
  {
    audience: text('The service that the token is for. It refuses tokens for other services.', 'reports', { minLength: 1, maxLength: 200 }),
    lifetime_seconds: Type.Optional(
      integer('How long the token is valid; 300 seconds if it is left out.', 300, {
        minimum: TOKEN_LIFETIME_SECONDS.min,
        maximum: TOKEN_LIFETIME_SECONDS.max,
        default: TOKEN_LIFETIME_SECONDS.default,
      }),
    ),
  },
  { title: 'OfflineTokenRequest', description: 'A request for a token that other services verify without asking.' },
)

const OfflineTokenView = Type.Object(
  {
    token: text('The token, a JWT signed with ES256.', TOKEN_EXAMPLE),
    token_type: Type.Literal('Bearer', { description: 'How services expect it: `Authorization: Bearer …`.' }),
    expires_in: integer('How long it is valid, in seconds. Less than was requested if the session or the key behind it ends before.', 300),
  },
  { title: 'OfflineToken', description: 'A token that other services verify without asking.' },
)

const PublicKeyView = Type.Object(
  {
    kty: text('The type of the key.', 'EC'),
    crv: text('The curve.', 'P-256'),
    x: text('A coordinate.', 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'),
    y: text('A coordinate.', 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'),
    kid: text('The id of the key, which a token names.', '0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41'),
    alg: text('The algorithm.', 'ES256'),
    use: text('What the key is for.', 'sig'),
  },
  { title: 'PublicKey', description: 'A public key (RFC 7517).' },
)
const KeySetView = Type.Object(
  {
    keys: Type.Array(PublicKeyView, {
      description: 'The keys that have signed tokens which may still be valid, and those that sign next.',
    }),
  },
  { title: 'KeySet', description: 'A set of public keys (RFC 7517).' },
)

/** Tokens that other services verify without asking. `issuer` returns the URL of this service. */
export function offlineTokenRoutes(app: App, offlineTokens: OfflineTokens, signingKeys: SigningKeys, issuer: () => string): void {
  const api = createApiRoutes(app, 'Identity')
  api.post('/auth/token', {
    config: { access: 'user', acceptedKeys: 'identify', writes: true },
    operationId: 'issueOfflineToken',
    summary: 'Get a token that other services verify',
    description:
      'Services verify it with the public keys of `/.well-known/jwks.json`, without asking. A ban or a logout is therefore noticed only ' +
      'when it expires. This service itself does not accept it.',
    body: OfflineTokenBody,
    response: { 200: described(OfflineTokenView, 'The token.'), ...refusals(401, 403, 413, 503) },
    handle: async ({ actor, body }) => {
      const { audience, lifetime_seconds: lifetimeSeconds = TOKEN_LIFETIME_SECONDS.default } = body
      const { token, expiresInSeconds } = await offlineTokens.issue(actor, { issuer: issuer(), audience, lifetimeSeconds })
      return { token, token_type: 'Bearer' as const, expires_in: expiresInSeconds }
    },
  })

  api.get('/.well-known/jwks.json', {
    config: { access: 'public', writes: false },
    operationId: 'getKeySet',
    summary: 'Get the public keys of tokens',
    description: 'A new key is in the set for longer than caches keep the set before a token is signed with it.',
    response: { 200: described(KeySetView, 'The public keys.'), ...refusals(503) },
    handle: async (_request, reply) => {
      const published = await signingKeys.published()
      // A set without a key must not be kept: the first key signs as soon as it exists.
      if (published.length > 0) reply.header('cache-control', `public, max-age=${KEY_SET_MAX_AGE_SECONDS}`)
      return { keys: published.map((text) => JSON.parse(text)) }
    },
  })
}
