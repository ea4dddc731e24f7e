import { altered, type Body, jsonReply, objectIn, type Plant, type Reply, type Seen } from './mutating-proxy.ts'

const FURTHER_FIELDS = { updated_at: null, links: { self: '/' }, locale: 'en' }

/** An implementation that decides otherwise wherever the specification is silent, answers with more fields and headers, and limits requests. */
export function honest(): Plant {
  let calls = 0
  return async (seen, { forward }) => {
    if (++calls % 50 === 0)
      return { status: 429, headers: { 'retry-after': '0', 'content-type': 'application/json' }, body: '{"detail":"Too many requests"}' }
    if (isElsewhere(seen)) return { status: 404, headers: { 'content-type': 'text/html' }, body: '<h1>Not Found</h1>' }
    const refused = refusal(seen)
    if (refused !== undefined) return refused
    const reply = decide(await forward(), seen)
    return { ...reply, headers: { ...reply.headers, 'x-powered-by': 'honesty', server: 'other', 'cache-control': 'no-store' } }
  }
}

/** It has neither a prefix nor optional slashes, HEAD, or a description. */
function isElsewhere({ method, path }: Seen): boolean {
  return (
    path.startsWith('/api/v1') ||
    path === '/openapi.json' ||
    method === 'HEAD' ||
    path === '/users/me/' ||
    path === '/heartbeat/' ||
    path === '/login'
  )
}

/** What it refuses and Latchkey accepts. */
function refusal({ method, path, json }: Seen): Reply | undefined {
  const email = String(json['email'] ?? '')
  if (path === '/login/' && /[A-Z]/.test(email)) return jsonReply(400, { detail: 'Wrong credentials' })
  // All four fields are required.
  if (method === 'PUT' && !('first_name' in json) && 'last_name' in json) return invalid('first_name')
  if (method === 'POST' && path === '/users/keys' && 'name' in json && !('scopes' in json)) return invalid('scopes')
  const token = json['refresh'] ?? json['code']
  if (path !== '/verify/' && (token === '' || String(token).length > 1024)) return invalid('token')
  return undefined
}

function invalid(field: string): Reply {
  return jsonReply(422, { detail: [{ loc: [field], msg: 'is not valid', type: 'invalid', input: null }] })
}

/** Other statuses, texts and formats where the specification names none. */
function decide(reply: Reply, seen: Seen): Reply {
  const { detail } = objectIn(reply.body)
  if (seen.path === '/register/' && reply.status === 400) return jsonReply(409, { detail: 'Conflict', code: 'taken' })
  if (seen.method === 'PUT' && reply.status === 400) return jsonReply(409, { detail: 'Conflict' })
  if (detail === 'You cannot ban yourself') return jsonReply(403, { detail: 'Not yourself' })
  if (detail === 'API key not found') return jsonReply(403, { detail: 'No such key' })
  if (detail === 'Not authenticated. Use either JWT token or API key.')
    return withoutChallenge(altered(reply, { fields: { detail: 'Please log in' } }))
  if (reply.status === 404 && seen.query.has('user_id')) return jsonReply(200, null)
  if (reply.status === 422 && Array.isArray(detail))
    return altered(reply, { fields: { detail: detail.map((item: Body) => ({ ...item, loc: ['request', 0], ctx: {} })) } })
  return reply.status === 200 ? furnished(reply) : reply
}

function withoutChallenge({ headers, ...reply }: Reply): Reply {
  const { 'www-authenticate': _, ...others } = headers
  return { ...reply, headers: others }
}

/** Views with more fields, and timestamps with an offset. */
function furnished(reply: Reply): Reply {
  if (!reply.headers['content-type']?.startsWith('application/json')) return reply
  const body = reply.body.replace(/"created_at":"([^"]+)Z"/g, '"created_at":"$1+00:00"')
  return body.startsWith('{"') ? altered({ ...reply, body }, { fields: FURTHER_FIELDS }) : { ...reply, body }
}
