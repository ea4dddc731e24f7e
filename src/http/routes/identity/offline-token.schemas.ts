import { TOKEN_LIFETIME_SECONDS } from '../../../domain/identity/signing-key-times.ts'
import { TOKEN_EXAMPLE } from '../../validation/fields.ts'
import { Type } from '../../validation/schema.ts'

export const OfflineTokenBody = Type.Object(
  {
    audience: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'The service that the token is for. It refuses tokens for other services.',
      examples: ['reports'],
    }),
    lifetime_seconds: Type.Optional(
      Type.Integer({
        minimum: TOKEN_LIFETIME_SECONDS.min,
        maximum: TOKEN_LIFETIME_SECONDS.max,
        default: TOKEN_LIFETIME_SECONDS.default,
        description: 'How long the token is valid; 300 seconds if it is left out.',
        examples: [300],
      }),
    ),
  },
  { title: 'OfflineTokenRequest', description: 'A request for a token that other services verify without asking.' },
)

export const OfflineTokenView = Type.Object(
  {
    token: Type.String({ description: 'The token, a JWT signed with ES256.', examples: [TOKEN_EXAMPLE] }),
    token_type: Type.Literal('Bearer', { description: 'How services expect it: `Authorization: Bearer …`.' }),
    expires_in: Type.Integer({
      description: 'How long it is valid, in seconds. Less than was requested if the session or the key behind it ends before.',
      examples: [300],
    }),
  },
  { title: 'OfflineToken', description: 'A token that other services verify without asking.' },
)

const PublicKeyView = Type.Object(
  {
    kty: Type.String({ description: 'The type of the key.', examples: ['EC'] }),
    crv: Type.String({ description: 'The curve.', examples: ['P-256'] }),
    x: Type.String({ description: 'A coordinate.', examples: ['f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'] }),
    y: Type.String({ description: 'A coordinate.', examples: ['x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'] }),
    kid: Type.String({ description: 'The id of the key, which a token names.', examples: ['0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41'] }),
    alg: Type.String({ description: 'The algorithm.', examples: ['ES256'] }),
    use: Type.String({ description: 'What the key is for.', examples: ['sig'] }),
  },
  { title: 'PublicKey', description: 'A public key (RFC 7517).' },
)
export const KeySetView = Type.Object(
  {
    keys: Type.Array(PublicKeyView, {
      description: 'The keys that have signed tokens which may still be valid, and those that sign next.',
    }),
  },
  { title: 'KeySet', description: 'A set of public keys (RFC 7517).' },
)
