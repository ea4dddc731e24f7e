import type { ActiveCredential } from '../../../domain/identity/introspection.service.ts'
import { scopeString } from '../../../domain/identity/scopes.ts'
import { TOKEN_EXAMPLE } from '../../validation/fields.ts'
import { type Static, Type } from '../../validation/schema.ts'

const Question = Type.Object(
  { token: Type.String({ description: 'An access token or an API key.', examples: [TOKEN_EXAMPLE] }) },
  { title: 'Introspection', description: 'A question about a credential.' },
)
export const IntrospectionBody = Type.Unsafe<Static<typeof Question>>({
  content: { 'application/json': { schema: Question }, 'application/x-www-form-urlencoded': { schema: Question } },
})

export const IntrospectionView = Type.Object(
  {
    active: Type.Boolean({ description: 'Whether the credential works at this moment. If not, nothing else is said.', examples: [true] }),
    sub: Type.Optional(Type.String({ description: 'The id of the user.', examples: ['7'] })),
    username: Type.Optional(Type.String({ description: 'The e-mail address of the user.', examples: ['mia@example.com'] })),
    token_type: Type.Optional(Type.Enum(['access_token', 'api_key'], { description: 'The kind of credential.', examples: ['api_key'] })),
    role: Type.Optional(Type.Enum(['user', 'admin'], { description: 'The role of the user.', examples: ['user'] })),
    scope: Type.Optional(
      Type.String({ description: 'The scopes of an API key, separated by spaces. Absent for a session.', examples: ['reports:read'] }),
    ),
    iat: Type.Optional(
      Type.Integer({ description: 'When the token was issued, in seconds since 1970. Absent for a key.', examples: [1769851800] }),
    ),
    exp: Type.Optional(
      Type.Integer({ description: 'When it expires, in seconds since 1970. Absent if it does not.', examples: [1769859000] }),
    ),
    jti: Type.Optional(
      Type.String({ description: 'The id of the session or of the key.', examples: ['0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41'] }),
    ),
  },
  { title: 'IntrospectionResult', description: 'What is known about a credential.' },
)

export function introspectionView(found: ActiveCredential | undefined): Static<typeof IntrospectionView> {
  if (found === undefined) return { active: false }
  const { owner, issuedAt } = found
  const { user, sessionId, key, expiresAt } = owner
  return {
    active: true,
    sub: String(user.id),
    username: user.email,
    token_type: key === undefined ? 'access_token' : 'api_key',
    role: user.role,
    ...(key && { scope: scopeString(key.scopes) }),
    ...(issuedAt !== undefined && { iat: Math.floor(issuedAt / 1000) }),
    ...(expiresAt !== undefined && { exp: Math.floor(expiresAt / 1000) }),
    jti: key?.id ?? sessionId ?? '',
  }
}
