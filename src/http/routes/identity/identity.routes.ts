import type { ActiveCredential, Introspection } from '../../../domain/identity/introspection.service.ts'
import { parseScopeString, type Requirements, requireIdentity, scopeString } from '../../../domain/identity/requirements.ts'
import type { Caller } from '../../../model/caller.ts'
import { described, refusals } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { flag, integer, nullable, type Static, TOKEN_EXAMPLE, Type, text } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { UserId } from '../users/user.schemas.ts'

const CheckQuery = Type.Object({
  role: Type.Optional(Type.Enum(['admin'], { description: 'The role that the caller must have.' })),
  // Without a single scope it is an error: an empty variable of a proxy must not let every key in.
  scope: Type.Optional(
    text('The scopes that an API key must carry, separated by spaces. A session satisfies every scope.', 'reports:read', {
      trimmed: true,
      minLength: 1,
    }),
  ),
})

const IdentityView = Type.Object(
  {
    user_id: UserId,
    email: text('The e-mail address.', 'mia@example.com'),
    first_name: text('The first name.', 'Mia'),
    last_name: text('The last name.', 'Muster'),
    role: Type.Enum(['user', 'admin'], { type: 'string', description: 'The role of the user.', examples: ['user'] }),
    method: Type.Enum(['session', 'api_key'], { type: 'string', description: 'The kind of credential.', examples: ['api_key'] }),
    session_id: nullable(Type.String({ description: 'The id of the session; null for an API key.', examples: [null] })),
    key_id: nullable(text('The id of the API key; null for a session.', '0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41')),
    scopes: nullable(
      Type.Array(Type.String(), {
        description: 'The scopes of the API key. Null for a session, which is not restricted.',
        examples: [['reports:read']],
      }),
    ),
    expires_at: nullable(
      Type.String({
        format: 'date-time',
        description: 'When the access token or the API key expires, in UTC. Null for a key that does not expire.',
        examples: [null],
      }),
    ),
  },
  { title: 'Identity', description: 'Who is calling, and with which credential.' },
)

function toRequirements({ role, scope }: Static<typeof CheckQuery>): Requirements {
  return { role, scopes: scope === undefined ? undefined : parseScopeString(scope) }
}

function identityView({ user, sessionId, key, expiresAt }: Caller): Static<typeof IdentityView> {
  return {
    user_id: user.id,
    email: user.email,
    first_name: user.firstName,
    last_name: user.lastName,
    role: user.role,
    method: key === undefined ? 'session' : 'api_key',
    session_id: sessionId ?? null,
    key_id: key?.id ?? null,
    scopes: key === undefined ? null : [...key.scopes],
    expires_at: expiresAt === undefined ? null : timestamp(expiresAt),
  }
}

/**
 * The identity as headers, for a proxy to pass on. The names have no separator: some servers treat `-` and `_` alike, so that a client
 * could send a second spelling of the name past the proxy. They are in lower case, which spares Fastify the conversion.
 */
function identityHeaders({ user, key }: Caller): Record<string, string> {
  return {
    latchkeyuser: String(user.id),
    latchkeyemail: user.email,
    latchkeyrole: user.role,
    latchkeymethod: key === undefined ? 'session' : 'api_key',
    latchkeyscopes: key === undefined ? '' : scopeString(key.scopes),
    latchkeykey: key?.id ?? '',
  }
}

// A session shows the same expiry with every request, and writing a date is the slowest part of this view.
const MAX_REMEMBERED = 10_000
const remembered = new Map<number, string>()

function timestamp(time: number): string {
  const known = remembered.get(time)
  if (known !== undefined) return known
  const text = new Date(time).toISOString()
  if (remembered.size >= MAX_REMEMBERED) remembered.clear()
  remembered.set(time, text)
  return text
}

const Question = Type.Object(
  { token: text('An access token or an API key.', TOKEN_EXAMPLE) },
  { title: 'Introspection', description: 'A question about a credential.' },
)
const IntrospectionBody = Type.Unsafe<Static<typeof Question>>({
  content: { 'application/json': { schema: Question }, 'application/x-www-form-urlencoded': { schema: Question } },
})

const IntrospectionView = Type.Object(
  {
    active: flag('Whether the credential works at this moment. If not, nothing else is said.', true),
    sub: Type.Optional(text('The id of the user.', '7')),
    username: Type.Optional(text('The e-mail address of the user.', 'mia@example.com')),
    token_type: Type.Optional(Type.Enum(['access_token', 'api_key'], { description: 'The kind of credential.', examples: ['api_key'] })),
    role: Type.Optional(Type.Enum(['user', 'admin'], { description: 'The role of the user.', examples: ['user'] })),
    scope: Type.Optional(text('The scopes of an API key, separated by spaces. Absent for a session.', 'reports:read')),
    iat: Type.Optional(integer('When the token was issued, in seconds since 1970. Absent for a key.', 1769851800)),
    exp: Type.Optional(integer('When it expires, in seconds since 1970. Absent if it does not.', 1769859000)),
    jti: Type.Optional(text('The id of the session or of the key.', '0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41')),
  },
  { title: 'IntrospectionResult', description: 'What is known about a credential.' },
)

function introspectionView(found: ActiveCredential | undefined): Static<typeof IntrospectionView> {
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

/** For services and proxies that ask who is calling. */
export function identityRoutes(app: App, introspection: Introspection): void {
  const api = createApiRoutes(app, 'Identity')
  api.get('/auth/check', {
    config: { access: 'user', acceptedKeys: 'identify', writes: false, skipsDeadline: true },
    operationId: 'checkIdentity',
    summary: 'Check who is calling',
    description:
      'For a service that received a credential, and for forward authentication by a proxy. The response also has the headers ' +
      '`LatchkeyUser`, `LatchkeyEmail`, `LatchkeyRole`, `LatchkeyMethod`, `LatchkeyScopes` and `LatchkeyKey`. A body is ignored.',
    querystring: CheckQuery,
    response: { 200: described(IdentityView, 'Who is calling.'), ...refusals(401, 403, 503) },
    handle: async ({ caller, query }, reply) => {
      requireIdentity(caller, toRequirements(query))
      reply.headers(identityHeaders(caller))
      return identityView(caller)
    },
  })

  api.post('/auth/introspect', {
    config: { access: 'user', acceptedKeys: 'identify', writes: false },
    operationId: 'introspectCredential',
    summary: 'Ask about a token or an API key',
    description:
      'As in RFC 7662. For a service that received a credential and has its own. It does not count as a use of the credential. ' +
      '`token_type_hint` is accepted and ignored.',
    body: IntrospectionBody,
    response: { 200: described(IntrospectionView, 'What is known about the credential.'), ...refusals(401, 403, 413, 503) },
    handle: async ({ caller, body }) => introspectionView(await introspection.introspect(caller, body.token)),
  })
}
