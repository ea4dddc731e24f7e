import { claimsOf, type Defect, isCall, isWithoutAt, onReply, onRequest, onStatus } from './account-defects.ts'
import { altered, type Body, jsonReply, objectIn, type Plant, type Reply, type Seen } from './mutating-proxy.ts'

const HASH = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g'
const EMPTY: Reply = { status: 204, headers: {}, body: '' }
const KEY_PATH = /^\/users\/keys\/[0-9a-f-]{36}$/

/** Changes the query of a search. */
function searching(change: (query: URLSearchParams) => void): () => Plant {
  return () =>
    async (seen, { forward }) => {
      if (!isCall(seen, 'GET /users/search')) return forward()
      const query = new URLSearchParams(seen.query)
      change(query)
      return forward({ query })
    }
}

/** Lets a credential in that the service refuses. */
function admitting(isAdmitted: (seen: Seen) => boolean): () => Plant {
  return () =>
    async (seen, { forward }) => {
      const reply = await forward()
      const isRefused = reply.status === 401 && isCall(seen, 'GET /users/me')
      return isRefused && isAdmitted(seen) ? jsonReply(200, { email: 'a@example.com', first_name: 'A', last_name: 'B' }) : reply
    }
}

/** Ignores that the service refuses what only admins may do. */
function asAdmin(pattern: RegExp): () => Plant {
  return () =>
    async (seen, { forward, asAdmin: call }) => {
      const reply = await forward()
      return reply.status === 403 && pattern.test(`${seen.method} ${seen.path}`) ? call(seen.method, seen.path) : reply
    }
}

/** Remembers the keys that were created, by their id. */
function rememberingKeys(change: (reply: Reply, seen: Seen, keys: ReadonlyMap<string, Body>) => Reply): () => Plant {
  return () => {
    const keys = new Map<string, Body>()
    return async (seen, { forward }) => {
      const reply = await forward()
      const view = objectIn(reply.body)
      if (isCall(seen, 'POST /users/keys') && reply.status === 200) keys.set(String(view['id']), view)
      return change(reply, seen, keys)
    }
  }
}

const bearer = ({ headers }: Seen) => (headers['authorization'] ?? '').replace('Bearer ', '')
const listOf = ({ body }: Reply) => JSON.parse(body) as Body[]
const each = (reply: Reply, fields: Body) => ({ ...reply, body: JSON.stringify(listOf(reply).map((item) => ({ ...item, ...fields }))) })

export const ACCESS_DEFECTS: readonly Defect[] = [
  {
    name: '/users/me returns the password hash',
    check: 'me.no-secrets',
    plant: onStatus('GET /users/me', 200, (reply) => altered(reply, { fields: { password_hash: HASH } })),
  },
  {
    name: '/users/me lacks last_name',
    check: 'me.status',
    plant: onStatus('GET /users/me', 200, (reply) => altered(reply, { fields: { last_name: undefined } })),
  },
  {
    name: 'the list of users has the password hash under a harmless name',
    check: 'list.no-secrets',
    plant: onReply('GET /users/', (reply, { query }) =>
      reply.status === 200 && !query.has('user_id') ? each(reply, { credential: HASH }) : reply,
    ),
  },
  {
    name: 'one user comes as an array',
    check: 'list.one',
    plant: onReply('GET /users/', (reply, { query }) =>
      reply.status === 200 && query.has('user_id') ? { ...reply, body: `[${reply.body}]` } : reply,
    ),
  },
  {
    name: 'ids are texts',
    check: 'list.full-view',
    plant: onReply('GET /users/', (reply, { query }) => (reply.status === 200 && !query.has('user_id') ? each(reply, { id: '1' }) : reply)),
  },
  {
    name: 'pages are off by one',
    check: 'search.pages',
    plant: searching((query) => query.has('page') && query.set('page', String(Number(query.get('page')) + 1))),
  },
  {
    name: 'search accepts a size of 101',
    check: 'search.size-101',
    plant: searching((query) => query.get('size') === '101' && query.set('size', '100')),
  },
  {
    name: 'search accepts page 0',
    check: 'search.page-0',
    plant: searching((query) => query.get('page') === '0' && query.set('page', '1')),
  },
  { name: 'the default size is 20', check: 'search.defaults', plant: searching((query) => !query.has('size') && query.set('size', '20')) },
  {
    name: 'total counts the page only',
    check: 'search.total',
    plant: onStatus('GET /users/search', 200, (reply) =>
      altered(reply, { fields: { total: (objectIn(reply.body)['items'] as unknown[]).length } }),
    ),
  },
  { name: 'exact_match is ignored', check: 'search.exact-part', plant: searching((query) => query.delete('exact_match')) },
  {
    name: 'field is ignored',
    check: 'search.field-email',
    plant: searching((query) => query.has('field') && query.get('field') !== 'password' && query.set('field', 'all')),
  },
  {
    name: 'search is case-sensitive',
    check: 'search.case',
    plant: onReply('GET /users/search', (reply, { query }) =>
      /^GIVEN/.test(query.get('search_term') ?? '') ? altered(reply, { fields: { items: [], total: 0 } }) : reply,
    ),
  },
  {
    name: 'edit takes any text as an address',
    check: 'edit.email-invalid',
    plant: onReply(/^PUT \/users\/\d+$/, (reply, { json }) =>
      isWithoutAt(json['email']) ? jsonReply(200, { email: json['email'], first_name: 'A', last_name: 'B' }) : reply,
    ),
  },
  {
    name: 'edit of an unknown user has another text',
    check: 'edit.unknown',
    plant: onStatus(/^PUT /, 404, (reply) => altered(reply, { fields: { detail: 'Not Found' } })),
  },
  {
    name: 'users can edit each other',
    check: 'edit.other',
    plant: onStatus(/^PUT /, 403, (_, { json }) => jsonReply(200, json)),
  },
  {
    name: 'a change of the password answers 200',
    check: 'password.self',
    plant: onStatus(/\/password$/, 204, () => jsonReply(200, { message: 'changed' })),
  },
  {
    name: 'a change accepts a password of 7 characters',
    check: 'password.password-7',
    plant: onReply(/\/password$/, (reply, { json }) => (String(json['password']).length === 7 ? EMPTY : reply)),
  },
  {
    name: 'banned users keep their access tokens',
    check: 'ban.token',
    plant: admitting((seen) => claimsOf(bearer(seen))['typ'] === 'access'),
  },
  {
    name: 'banned users keep their API keys',
    check: 'ban.key',
    plant: admitting(({ headers }) => headers['x-api-key']?.startsWith('lk_') === true),
  },
  {
    name: 'an admin can ban themself',
    check: 'ban.self',
    plant: onStatus(/\/ban$/, 400, () => EMPTY),
  },
  {
    name: 'a ban is not shown',
    check: 'ban.banned',
    plant: onReply('GET /users/search', (reply) => ({ ...reply, body: reply.body.replaceAll('"banned":true', '"banned":false') })),
  },
  {
    name: 'a deletion answers 200',
    check: 'delete.status',
    plant: onStatus(/^DELETE \/users\/\d+$/, 204, () => jsonReply(200, { deleted: true })),
  },
  {
    name: 'a second deletion answers 204',
    check: 'delete.again',
    plant: onStatus(/^DELETE \/users\/\d+$/, 404, () => EMPTY),
  },
  {
    name: 'users can delete themselves',
    check: 'delete.self',
    plant: onStatus(/^DELETE \/users\/\d+$/, 403, () => EMPTY),
  },
  {
    name: 'a key is created with 201',
    check: 'keys.create',
    plant: onStatus('POST /users/keys', 200, (reply) => altered(reply, { status: 201 })),
  },
  {
    name: 'created_at is not ISO 8601',
    check: 'keys.created-at',
    plant: onStatus('POST /users/keys', 200, (reply) => altered(reply, { fields: { created_at: new Date().toUTCString() } })),
  },
  {
    name: 'the list shows keys again',
    check: 'keys.list-no-key',
    plant: rememberingKeys((reply, seen, keys) => {
      const isList = isCall(seen, 'GET /users/keys') && reply.status === 200
      return isList
        ? { ...reply, body: JSON.stringify(listOf(reply).map((view) => ({ ...view, key: keys.get(String(view['id']))?.['key'] }))) }
        : reply
    }),
  },
  {
    name: 'a key view has the hash',
    check: 'keys.get-no-key',
    plant: onStatus(/^GET \/users\/keys\/[0-9a-f-]{36}$/, 200, (reply) => altered(reply, { fields: { key_hash: 'ab12' } })),
  },
  {
    name: 'the list has the keys of all users',
    check: 'keys.list-own',
    plant: rememberingKeys((reply, seen, keys) =>
      isCall(seen, 'GET /users/keys') && reply.status === 200
        ? { ...reply, body: JSON.stringify([...keys.values()].map(({ key: _, ...view }) => view)) }
        : reply,
    ),
  },
  {
    name: 'keys of others can be read',
    check: 'keys.get-other',
    plant: rememberingKeys((reply, { method, path }, keys) =>
      method === 'GET' && reply.status === 404 && keys.has(path.split('/').at(-1) ?? '') ? jsonReply(200, {}) : reply,
    ),
  },
  {
    name: 'a disabled key works',
    check: 'key-changes.disable',
    plant: admitting(({ headers }) => headers['x-api-key']?.startsWith('lk_') === true),
  },
  {
    name: 'a change shows the key again',
    check: 'key-changes.no-key',
    plant: rememberingKeys((reply, { method, path }, keys) =>
      method === 'PATCH' && KEY_PATH.test(path) && reply.status === 200
        ? altered(reply, { fields: { key: keys.get(path.split('/').at(-1) ?? '')?.['key'] } })
        : reply,
    ),
  },
  {
    name: 'is_active cannot be changed together with the name',
    check: 'key-changes.both',
    plant:
      () =>
      async (seen, { forward }) =>
        seen.method === 'PATCH' && 'name' in seen.json && 'is_active' in seen.json
          ? forward({ json: { name: seen.json['name'] } })
          : forward(),
  },
  {
    name: 'a deleted key works',
    check: 'key-deletion.refused',
    plant: admitting(({ headers }) => headers['x-api-key']?.startsWith('lk_') === true),
  },
  {
    name: 'the key of another user can be changed under any user_id',
    check: 'by-user.wrong-user',
    plant: onStatus(/^PATCH \/users\/keys\/by-user\//, 404, () => jsonReply(200, {})),
  },
  {
    name: 'a refresh token is an access token',
    check: 'auth.refresh-token',
    plant: admitting((seen) => claimsOf(bearer(seen))['typ'] === 'refresh'),
  },
  {
    name: 'a verify token is an access token',
    check: 'auth.verify-token',
    plant: admitting((seen) => claimsOf(bearer(seen))['typ'] === 'verify'),
  },
  {
    name: 'tokens without a signature are accepted',
    check: 'auth.unsecured',
    plant: admitting((seen) => bearer(seen).startsWith('eyJhbGciOiJub25l')),
  },
  {
    name: 'signatures are not checked',
    check: 'auth.other-signature',
    plant: admitting((seen) => claimsOf(bearer(seen))['typ'] === 'access'),
  },
  {
    name: 'the API key wins over the token',
    check: 'auth.token-first',
    plant:
      () =>
      async (seen, { forward }) => {
        const { authorization: _, ...others } = seen.headers
        return 'x-api-key' in others ? forward({ headers: others }) : forward()
      },
  },
  {
    name: 'an invalid token has another text',
    check: 'auth.invalid',
    plant: onStatus('GET /users/me', 401, (reply) => altered(reply, { fields: { detail: 'Could not validate credentials' } })),
  },
  { name: 'everybody can list users', check: 'no-admin.list', plant: asAdmin(/^GET \/users\/$/) },
  { name: 'everybody can list the keys of others', check: 'no-admin.by-user-list', plant: asAdmin(/^GET \/users\/keys\/by-user\//) },
  {
    name: 'missing permissions have another text',
    check: 'no-admin.ban',
    plant: onStatus(/\/ban$/, 403, (reply) => altered(reply, { fields: { detail: 'Forbidden' } })),
  },
  {
    name: 'keys can be listed without credentials',
    check: 'anonymous.keys-list',
    plant: onReply('GET /users/keys', (reply, { headers }) =>
      headers['authorization'] === undefined && headers['x-api-key'] === undefined ? jsonReply(200, []) : reply,
    ),
  },
  {
    name: 'missing credentials are 403',
    check: 'anonymous.search',
    plant: onStatus('GET /users/search', 401, (reply) => altered(reply, { status: 403 })),
  },
  {
    name: 'unverified users can use their token',
    check: 'unverified.me',
    plant: admitting((seen) => claimsOf(bearer(seen))['typ'] === 'access'),
  },
  {
    name: 'the heartbeat says OK',
    check: 'heartbeat.status',
    plant: onReply('GET /heartbeat', (reply) => altered(reply, { fields: { status: 'OK' } })),
  },
  {
    name: 'the heartbeat needs credentials',
    check: 'public.heartbeat',
    plant: onReply('GET /heartbeat', (reply, { headers }) =>
      headers['authorization'] ? jsonReply(401, { detail: 'That token is Invalid' }) : reply,
    ),
  },
  {
    name: '/docs is plain text',
    check: 'explorers.docs',
    plant: onReply('GET /docs', (reply) => ({ ...reply, headers: { 'content-type': 'text/plain' } })),
  },
  {
    name: 'login attempts are not counted',
    check: 'metrics.login-attempts-total',
    plant: onReply('GET /metrics', (reply) => ({ ...reply, body: reply.body.replace(/^.*login_attempts_total.*$/gm, '# nothing') })),
  },
  {
    name: 'the heartbeat is in the request metrics',
    check: 'metrics.excluded',
    plant: onReply('GET /metrics', (reply) => ({
      ...reply,
      body: `${reply.body}latchkey_http_requests_total{handler="/heartbeat",method="GET",status="2xx"} 7\n`,
    })),
  },
  {
    name: 'durations have no buckets',
    check: 'metrics.histogram',
    plant: onReply('GET /metrics', (reply) => ({ ...reply, body: reply.body.replace(/^.*highr_seconds_bucket.*\n/gm, '') })),
  },
  {
    name: 'a key name may be null',
    check: 'keys.name-null',
    plant: onRequest('POST /users/keys', (json) => (json['name'] === null ? { ...json, name: 'null' } : json)),
  },
]
