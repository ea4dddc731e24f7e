import type { ActiveCredential, Introspection } from '../../../domain/identity/introspection.service.ts'
import type { OfflineTokens } from '../../../domain/identity/offline-tokens.service.ts'
import {
  parseScopeString,
  type Requirements,
  requireFactor,
  requireIdentity,
  type SecondFactorRule,
  scopeString,
} from '../../../domain/identity/requirements.ts'
import { KEY_SET_MAX_AGE_SECONDS, type SigningKeys, TOKEN_LIFETIME_SECONDS } from '../../../domain/identity/signing-keys.ts'
import type { Counter, Quota } from '../../../domain/plans/counting.ts'
import type { Metering } from '../../../domain/plans/plans.service.ts'
import type { ProductData } from '../../../domain/users/user-data.service.ts'
import { MAX_COST } from '../../../domain/values/plans.ts'
import type { Caller } from '../../../model/caller.ts'
import { Refusal, TooManyRequests } from '../../../model/refusal.ts'
import type { UserData } from '../../../model/user.ts'
import { within } from '../../../shared/within.ts'
import { sendError } from '../../answers/errors.ts'
import { described } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { defaulted, flag, integer, nullable, type Static, TOKEN_EXAMPLE, Type, text } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { PROFILE_FIELDS, UserId } from '../users/user.schemas.ts'
import { AddedData, userDataView } from '../users/user-data.routes.ts'

const CheckQuery = Type.Object({
  role: Type.Optional(Type.Enum(['admin'], { description: 'The role that the caller must have.' })),
  // Without a single scope it is an error: an empty variable of a proxy must not let every key in.
  scope: Type.Optional(
    text('The scopes that an API key must carry, separated by spaces. A session satisfies every scope.', 'reports:read', {
      trimmed: true,
      minLength: 1,
    }),
  ),
  second_factor: Type.Optional(flag('Whether a session must have a second factor. An API key passes.', true)),
  data: Type.Optional(flag('Whether the response has `data`: what the product keeps about the account. It costs a second read.', true)),
  cost: defaulted(
    integer('What the request of an API key counts for, in limits and in use.', 5, { minimum: 1, maximum: MAX_COST, default: 1 }),
  ),
  limited: Type.Optional(
    Type.Enum(['403'], { description: 'The status of a request beyond a limit, in place of 429, for proxies that know only 401 and 403.' }),
  ),
})

const IdentityView = Type.Object(
  {
    user_id: UserId,
    ...PROFILE_FIELDS,
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
    second_factor: nullable(flag('Whether the session has a second factor. Null for an API key.', true)),
    expires_at: nullable(
      Type.String({
        format: 'date-time',
        description: 'When the access token or the API key expires, in UTC. Null for a key that does not expire.',
        examples: [null],
      }),
    ),
    data: Type.Optional(AddedData),
  },
  { title: 'Identity', description: 'Who is calling, and with which credential.' },
)

function toRequirements({ role, scope, second_factor: secondFactor }: Static<typeof CheckQuery>): Requirements {
  return { role, secondFactor, scopes: scope === undefined ? undefined : parseScopeString(scope) }
}

function identityView({ user, sessionId, key, expiresAt, secondFactor }: Caller): Static<typeof IdentityView> {
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
    second_factor: key === undefined ? secondFactor : null,
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
    second_factor: Type.Optional(nullable(flag('Whether the session has a second factor. Null for an API key.', true))),
    iat: Type.Optional(integer('When the token was issued, in seconds since 1970. Absent for a key.', 1769851800)),
    exp: Type.Optional(integer('When it expires, in seconds since 1970. Absent if it does not.', 1769859000)),
    jti: Type.Optional(text('The id of the session or of the key.', '0b9f3d52-6d2b-4f0e-9a57-3f6d1c8e2a41')),
  },
  { title: 'IntrospectionResult', description: 'What is known about a credential.' },
)

function introspectionView(found: ActiveCredential | undefined): Static<typeof IntrospectionView> {
  if (found === undefined) return { active: false }
  const { owner, issuedAt } = found
  const { user, sessionId, key, expiresAt, secondFactor } = owner
  return {
    active: true,
    sub: String(user.id),
    username: user.email,
    token_type: key === undefined ? 'access_token' : 'api_key',
    role: user.role,
    ...(key && { scope: scopeString(key.scopes) }),
    second_factor: key === undefined ? secondFactor : null,
    ...(issuedAt !== undefined && { iat: Math.floor(issuedAt / 1000) }),
    ...(expiresAt !== undefined && { exp: Math.floor(expiresAt / 1000) }),
    jti: key?.id ?? sessionId ?? '',
  }
}

const NO_HEADERS = Object.freeze({})

/**
 * The limits of a key and what is left of them, as in draft-ietf-httpapi-ratelimit-headers-11: two lists of Structured Fields (RFC 9651) with
 * the names of the limits, `q` for the quota, `w` for the window in seconds, `r` for what remains and `t` for the seconds until the window
 * ends. None without a limit.
 */
function limitHeaders(quotas: readonly Quota[]): Readonly<Record<string, string>> {
  if (quotas.length === 0) return NO_HEADERS
  let policy = ''
  let left = ''
  for (const { counter, remaining, resetMs } of quotas) {
    const separator = left === '' ? '' : ', '
    policy += separator + policyOf(counter)
    left += `${separator}"${counter.name}";r=${remaining}`
    if (resetMs !== undefined) left += `;t=${Math.max(0, Math.ceil(resetMs / 1000))}`
  }
  return { 'ratelimit-policy': policy, ratelimit: left }
}

const policies = new WeakMap<Counter, string>()

/** The same for every request of a key. */
function policyOf(counter: Counter): string {
  const known = policies.get(counter)
  if (known !== undefined) return known
  const policy = `"${counter.name}";q=${counter.limit.count};w=${counter.limit.periodMs / 1000}`
  policies.set(counter, policy)
  return policy
}

// The route has no deadline. The read of the caller may have taken two seconds, and every client gets a response within three.
const DATA_DEADLINE_MS = 900

type IdentityParts = {
  readonly introspection: Introspection
  readonly productData: ProductData
  readonly metering: Metering
  readonly rule: SecondFactorRule
}

/** For services and proxies that ask who is calling. */
export function identityRoutes(app: App, { introspection, productData, metering, rule }: IdentityParts): void {
  async function readData(caller: Caller): Promise<UserData> {
    const data = await within(DATA_DEADLINE_MS, productData.ofCaller({ caller }), undefined)
    if (data === undefined) throw new Refusal('unavailable', 'reading the data took too long')
    return data
  }

  /** Counts a request of an API key. The last rule of all, because a refusal costs nothing. */
  async function meter(caller: Caller, { cost, limited }: Static<typeof CheckQuery>): Promise<readonly Quota[]> {
    try {
      return await metering.take(caller, cost)
    } catch (error) {
      if (error instanceof TooManyRequests && limited === '403')
        throw new TooManyRequests(error.retryAfterSeconds, error.message, 'limited')
      throw error
    }
  }

  const api = createApiRoutes(app, 'Identity')
  api.get('/auth/check', 'checkIdentity', {
    config: { access: 'user', acceptedKeys: 'identify', writes: false, skipsDeadline: true },
    summary: 'Check who is calling',
    description:
      'For a service that received a credential, and for forward authentication by a proxy. The response also has the headers ' +
      '`LatchkeyUser`, `LatchkeyEmail`, `LatchkeyRole`, `LatchkeyMethod`, `LatchkeyScopes` and `LatchkeyKey`. A body is ignored. ' +
      'The plan of the account and the limit of the key apply here; responses to a key with a limit have the headers ' +
      '`RateLimit-Policy` and `RateLimit`.',
    querystring: CheckQuery,
    response: { 200: described(IdentityView, 'Who is calling.'), refuses: [403, 'limited', 429] },
    errorHandler(error, request, reply) {
      const { caller } = request as { readonly caller?: Caller }
      if (caller !== undefined) reply.headers(limitHeaders(metering.status(caller)))
      sendError(error, request, reply)
    },
    handle: async ({ caller, query }, reply) => {
      requireIdentity(caller, toRequirements(query))
      requireFactor(rule, caller, { asAdmin: query.role === 'admin' })
      const left = await meter(caller, query)
      reply.headers(identityHeaders(caller)).headers(limitHeaders(left))
      if (!query.data) return identityView(caller)
      try {
        return { ...identityView(caller), data: userDataView(await readData(caller)) }
      } catch (error) {
        metering.undo(caller, query.cost)
        throw error
      }
    },
  })

  api.post('/auth/introspect', 'introspectCredential', {
    config: { access: 'user', acceptedKeys: 'identify', writes: false },
    summary: 'Ask about a token or an API key',
    description:
      'As in RFC 7662. For a service that received a credential and has its own. It does not count as a use of the credential. ' +
      '`token_type_hint` is accepted and ignored.',
    body: IntrospectionBody,
    response: { 200: described(IntrospectionView, 'What is known about the credential.') },
    handle: async ({ caller, body }) => introspectionView(await introspection.introspect(caller, body.token)),
  })
}

const OfflineTokenBody = Type.Object(
  {
    audience: text('The service that the token is for. It refuses tokens for other services.', 'reports', { minLength: 1, maxLength: 200 }),
    lifetime_seconds: defaulted(
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
  api.post('/auth/token', 'issueOfflineToken', {
    config: { access: 'user', acceptedKeys: 'identify', writes: true, guardsRole: true },
    summary: 'Get a token that other services verify',
    description:
      'Services verify it with the public keys of `/.well-known/jwks.json`, without asking. A ban or a logout is therefore noticed only ' +
      'when it expires. This service itself does not accept it.',
    body: OfflineTokenBody,
    response: { 200: described(OfflineTokenView, 'The token.') },
    handle: async ({ actor, body }) => {
      const { audience, lifetime_seconds: lifetimeSeconds } = body
      const { token, expiresInSeconds } = await offlineTokens.issue(actor, { issuer: issuer(), audience, lifetimeSeconds })
      return { token, token_type: 'Bearer' as const, expires_in: expiresInSeconds }
    },
  })

  api.get('/.well-known/jwks.json', 'getKeySet', {
    config: { access: 'public', writes: false },
    summary: 'Get the public keys of tokens',
    description: 'A new key is in the set for longer than caches keep the set before a token is signed with it.',
    response: { 200: described(KeySetView, 'The public keys.') },
    handle: async (_request, reply) => {
      const published = await signingKeys.published()
      // A set without a key must not be kept: the first key signs as soon as it exists.
      if (published.length > 0) reply.header('cache-control', `public, max-age=${KEY_SET_MAX_AGE_SECONDS}`)
      return { keys: published.map((text) => JSON.parse(text)) }
    },
  })
}
