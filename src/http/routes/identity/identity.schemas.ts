import type { Requirements } from '../../../domain/identity/requirements.ts'
import { parseScopeString, scopeString } from '../../../domain/identity/scopes.ts'
import type { Caller } from '../../../model/caller.ts'
import { nullable, type Static, Type } from '../../validation/schema.ts'
import { UserId } from '../users/user.schemas.ts'

export const CheckQuery = Type.Object({
  role: Type.Optional(Type.Enum(['admin'], { description: 'The role that the caller must have.' })),
  // Without a single scope it is an error: an empty variable of a proxy must not let every key in.
  scope: Type.Optional(
    Type.String({
      trimmed: true,
      minLength: 1,
      description: 'The scopes that an API key must carry, separated by spaces. A session satisfies every scope.',
      examples: ['reports:read'],
    }),
  ),
})

export const IdentityView = Type.Object(
  {
    user_id: UserId,
    email: Type.String({ description: 'The e-mail address.', examples: ['mia@example.com'] }),
    first_name: Type.String({ description: 'The first name.', examples: ['Mia'] }),
    last_name: Type.String({ description: 'The last name.', examples: ['Muster'] }),
    role: Type.Enum(['user', 'admin'], { type: 'string', description: 'The role of the user.', examples: ['user'] }),
    method: Type.Enum(['session', 'api_key'], { type: 'string', description: 'The kind of credential.', examples: ['api_key'] }),
    session_id: nullable(Type.String({ description: 'The id of the session; null for an API key.', examples: [null] })),
    key_id: nullable(
      Type.String({
        description: 'The id of the API key; null for a session.',
        examples: ['0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41'],
      }),
    ),
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

export function toRequirements({ role, scope }: Static<typeof CheckQuery>): Requirements {
  return { role, scopes: scope === undefined ? undefined : parseScopeString(scope) }
}

export function identityView({ user, sessionId, key, expiresAt }: Caller): Static<typeof IdentityView> {
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
export function identityHeaders({ user, key }: Caller): Record<string, string> {
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
