import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { pino } from 'pino'
import { Type } from 'typebox'
import { Empty, refusals } from '../../../src/http/answers/replies.ts'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import { SECURITY_HEADERS } from '../../../src/http/pipeline/headers.ts'
import { Abandoned, Refusal } from '../../../src/model/refusal.ts'
import { admin, member } from '../../support/app/actors.ts'
import { invalid, refused } from '../../support/app/assertions.ts'
import { startApp } from '../../support/app/start-app.ts'
import { type SkeletonOptions, startSkeleton } from '../../support/http/http-app.ts'

type Method = NonNullable<InjectOptions['method']>

const PUBLIC = { access: 'public', writes: false } as const
const NoteBody = Type.Object({ note: Type.String({ minLength: 1 }) })
const NotePath = Type.Object({ note_id: Type.Integer() })
const NoteQuery = Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1 })) })
const JSON_TYPE = { 'content-type': 'application/json' }
const TOO_LARGE = JSON.stringify({ note: 'x'.repeat(64 * 1024) })
// The methods that /notes/ does not accept. CONNECT never reaches a route.
const ODD_METHODS = METHODS.filter((method) => !['GET', 'HEAD', 'POST', 'CONNECT'].includes(method)) as Method[]

/** Routes that accept every kind of input and record the requests that reach a handler. */
function notes(t: Parameters<typeof startSkeleton>[0], options: SkeletonOptions = {}) {
  const seen: unknown[] = []
  const app = startSkeleton(
    t,
    (routes) => {
      routes.get(
        '/notes/',
        { config: PUBLIC, schema: { querystring: NoteQuery, response: { 200: Type.Unknown(), ...refusals() } } },
        async (request) => {
          seen.push(request.query)
          return { query: request.query }
        },
      )
      routes.post(
        '/notes/',
        { config: PUBLIC, schema: { body: NoteBody, response: { 200: Type.Unknown(), ...refusals(413) } } },
        async (request) => {
          seen.push(request.body)
          return { body: request.body }
        },
      )
      routes.get('/notes/latest', { config: PUBLIC, schema: { response: { 200: Type.Unknown(), ...refusals() } } }, async () => ({
        latest: true,
      }))
      routes.put(
        '/notes/:note_id',
        { config: PUBLIC, schema: { params: NotePath, response: { 200: Type.Unknown(), ...refusals() } } },
        async ({ params }) => params,
      )
      routes.patch(
        '/books/:note_id/pages',
        { config: PUBLIC, schema: { params: NotePath, response: { 200: Type.Unknown(), ...refusals() } } },
        async ({ params }) => params,
      )
      routes.delete(
        '/books/latest/:page',
        { config: PUBLIC, schema: { response: { 200: Type.Unknown(), ...refusals() } } },
        async () => ({}),
      )
      routes.post('/notes/clear', { config: PUBLIC, schema: { response: { 204: Empty, ...refusals(413) } } }, async (request, reply) => {
        seen.push(request.body)
        return reply.code(204).send()
      })
    },
    options,
  )
  return { app, seen }
}

/** Routes that fail in every unexpected way. */
function failing(t: Parameters<typeof startSkeleton>[0], options: SkeletonOptions = {}): App {
  const thrown: Record<string, unknown> = {
    error: new Error('secret detail'),
    'status-error': Object.assign(new Error('secret detail'), { statusCode: 418, code: 'SECRET_CODE', headers: { 'x-secret': 'detail' } }),
    text: 'secret detail',
    object: { statusCode: 418, message: 'secret detail' },
    null: null,
    nothing: undefined,
    unavailable: new Refusal('unavailable', 'secret detail'),
  }
  return startSkeleton(
    t,
    (routes) => {
      const schema = { response: { 200: Type.Object({ count: Type.Integer() }), ...refusals(503) } }
      for (const [name, error] of Object.entries(thrown)) {
        routes.get(`/${name}`, { config: PUBLIC, schema }, async () => {
          throw error
        })
      }
      routes.get('/unserialisable', { config: PUBLIC, schema }, async () => ({ count: 'secret detail' }) as never)
      routes.get('/cyclic', { config: PUBLIC, schema: { response: { 200: Type.Unknown(), ...refusals() } } }, async () => {
        const cyclic: Record<string, unknown> = { secret: 'detail' }
        cyclic['self'] = cyclic
        return cyclic
      })
    },
    options,
  )
}

test('404: a path that does not exist, whatever the method and the body', async (t) => {
  const { app, seen } = notes(t)
  for (const method of ['GET', 'POST', ...ODD_METHODS] as Method[]) {
    refused(await app.inject({ method, url: '/nothing' }), 404, 'Not Found')
    refused(
      await app.inject({ method, url: '/notes/latest/more', headers: { 'content-type': 'odd' }, payload: TOO_LARGE }),
      404,
      'Not Found',
    )
  }
  const head = await app.inject({ method: 'HEAD', url: '/nothing' })
  assert.equal(head.statusCode, 404)
  assert.deepEqual(seen, [])
})

test('405: every method that a path does not accept, with the accepted ones in Allow', async (t) => {
  const { app, seen } = notes(t)
  for (const method of ODD_METHODS) {
    const response = await app.inject({ method, url: '/notes/', headers: { 'content-type': 'odd' }, payload: TOO_LARGE })
    refused(response, 405, 'Method Not Allowed')
    assert.equal(response.headers.allow, 'GET, HEAD, POST')
  }
  const response = await app.inject({ method: 'POST', url: '/notes/latest' })
  assert.equal(response.headers.allow, 'GET, HEAD')
  const head = await app.inject({ method: 'HEAD', url: '/notes/clear' })
  assert.deepEqual([head.statusCode, head.headers.allow], [405, 'POST'])
  assert.deepEqual(seen, [])
})

test('405: a fixed path is not matched as an id by a parametric route of another method', async (t) => {
  const { app } = notes(t)
  const response = await app.inject({ method: 'PUT', url: '/notes/latest' })
  refused(response, 405, 'Method Not Allowed')
  assert.equal(response.headers.allow, 'GET, HEAD')
})

test('405: a path that two routes match is the one with the earlier fixed segment, whatever the method', async (t) => {
  const { app } = notes(t)
  for (const [url, allow] of [
    ['/books/latest/pages', 'DELETE'],
    ['/books/1/pages', 'PATCH'],
    ['/books/latest/1', 'DELETE'],
    ['/books//pages', 'PATCH'],
    ['/notes/:note_id', 'PUT'],
  ] as const) {
    for (const method of [...(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'] as const), ...ODD_METHODS]) {
      if (method === allow) continue
      const response = await app.inject({ method, url })
      assert.deepEqual([response.statusCode, response.headers.allow], [405, allow], `${method} ${url}`)
    }
  }
})

test('405, 404: a method is refused in each spelling of a path that the router accepts, and in no other', async (t) => {
  const { app } = notes(t)
  const ask = async (url: string) => {
    const { statusCode, headers } = await app.inject({ method: 'DELETE', url })
    return [statusCode, headers.allow]
  }
  for (const url of ['/notes', '/notes/', '/%6eotes/', '/api/v1/notes', 'http://other.example/api/v1/notes/?page=%zz', '/notes/?a=/b'])
    assert.deepEqual(await ask(url), [405, 'GET, HEAD, POST'], url)
  assert.deepEqual(await ask('/notes/a%2Fb%25'), [405, 'PUT'])
  for (const url of ['/Notes', '/notes%2F', '/%256eotes', '/notes;a', '//notes', '/api/v1/api/v1/notes', '/notes/%zz', '/notes/1/2/3'])
    assert.deepEqual(await ask(url), [404, undefined], url)
})

test('200: a path answers with and without a trailing slash, at the root and under /api/v1, never with a redirect', async (t) => {
  const { app } = notes(t)
  for (const url of ['/notes', '/notes/', '/api/v1/notes', '/api/v1/notes/']) {
    const response = await app.inject(`${url}?page=2`)
    assert.deepEqual([response.statusCode, response.json()], [200, { query: { page: 2 } }])
  }
})

test('404: a path that only resembles the version prefix', async (t) => {
  const { app } = notes(t)
  for (const url of ['/api/v1x/notes', '/api/v1notes', '/api/v2/notes', '/api/notes', '/api/v1/api/v1/notes', '/API/v1/notes', '//notes']) {
    refused(await app.inject(url), 404, 'Not Found')
  }
})

test('200: the version prefix alone is the root, with and without a query', async (t) => {
  const app = startSkeleton(t, (routes) => {
    routes.get('/', { config: PUBLIC, schema: { response: { 200: Type.Unknown(), ...refusals() } } }, async () => ({ root: true }))
  })
  for (const url of ['/', '/api/v1', '/api/v1/', '/api/v1?a=b', 'http://any.example/api/v1/']) {
    assert.deepEqual((await app.inject(url)).json(), { root: true })
  }
})

test('422: a body that is not a JSON object, each with its own error', async (t) => {
  const { app, seen } = notes(t)
  const cases: readonly (readonly [string, string | Buffer | undefined, Record<string, string>, string])[] = [
    ['no body', undefined, {}, 'missing'],
    ['no body, but a type', undefined, JSON_TYPE, 'missing'],
    ['no type', '{"note":"x"}', {}, 'model_attributes_type'],
    ['text', '{"note":"x"}', { 'content-type': 'text/plain' }, 'model_attributes_type'],
    ['form', 'note=x', { 'content-type': 'application/x-www-form-urlencoded' }, 'model_attributes_type'],
    ['almost JSON', '{"note":"x"}', { 'content-type': 'application/jsonx' }, 'model_attributes_type'],
    ['JSON among others', '{"note":"x"}', { 'content-type': 'text/plain, application/json' }, 'model_attributes_type'],
    ['odd type', '{"note":"x"}', { 'content-type': 'json' }, 'model_attributes_type'],
    ['empty type', '{"note":"x"}', { 'content-type': '' }, 'model_attributes_type'],
    ['broken', '{"note":', JSON_TYPE, 'json_invalid'],
    ['two values', '{"note":"x"}{}', JSON_TYPE, 'json_invalid'],
    ['comment', '{"note":"x"} // x', JSON_TYPE, 'json_invalid'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), JSON_TYPE, 'json_invalid'],
    ['UTF-16', Buffer.from('{"note":"x"}', 'utf16le'), JSON_TYPE, 'json_invalid'],
    ['white space', '  ', JSON_TYPE, 'json_invalid'],
    ['list', '[{"note":"x"}]', JSON_TYPE, 'model_attributes_type'],
    ['null', 'null', JSON_TYPE, 'model_attributes_type'],
    ['string', '"note"', JSON_TYPE, 'model_attributes_type'],
    ['number', '1', JSON_TYPE, 'model_attributes_type'],
    ['deep list', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, JSON_TYPE, 'model_attributes_type'],
    ['deep, broken', '['.repeat(60_000), JSON_TYPE, 'json_invalid'],
  ]
  for (const [name, payload, headers, type] of cases) {
    await t.test(name, async () => {
      invalid(await app.inject({ method: 'POST', url: '/notes/', headers, ...(payload !== undefined && { payload }) }), {
        loc: ['body'],
        type,
      })
    })
  }
  assert.deepEqual(seen, [])
})

test('200: a JSON content type with parameters, in any case, and a byte order mark are accepted', async (t) => {
  const { app } = notes(t)
  for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset=UTF-8']) {
    const response = await app.inject({ method: 'POST', url: '/notes/', headers: { 'content-type': type }, payload: '\uFEFF{"note":"x"}' })
    assert.deepEqual([response.statusCode, response.json()], [200, { body: { note: 'x' } }])
  }
})

test('200: an undeclared field is dropped, whatever its name', async (t) => {
  const { app, seen } = notes(t)
  const payload = '{"note":"x","__proto__":{"role":"admin"},"constructor":{"prototype":{"role":"admin"}},"toString":1,"role":"admin"}'
  const response = await app.inject({ method: 'POST', url: '/notes/', headers: JSON_TYPE, payload })
  assert.equal(response.body, '{"body":{"note":"x"}}')
  assert.deepEqual(Object.getOwnPropertyNames(seen[0]), ['note'])
  assert.equal(Object.getPrototypeOf(seen[0]), Object.prototype)
  assert.equal(({} as { role?: string }).role, undefined)
})

test('422: a field that every object inherits counts as missing', async (t) => {
  const app = startSkeleton(t, (routes) => {
    const body = Type.Object({ constructor: Type.String(), toString: Type.String() })
    routes.post('/odd', { config: PUBLIC, schema: { body, response: { 204: Empty, ...refusals() } } }, async (_request, reply) =>
      reply.code(204).send(),
    )
  })
  const response = await app.inject({ method: 'POST', url: '/odd', payload: {} })
  invalid(response, { loc: ['body', 'constructor'], type: 'missing' }, { loc: ['body', 'toString'], type: 'missing' })
})

test('204: a route without a body ignores any body and content type', async (t) => {
  const { app, seen } = notes(t)
  const bodies: readonly (readonly [string | undefined, Record<string, string>])[] = [
    [undefined, {}],
    [undefined, JSON_TYPE],
    ['', JSON_TYPE],
    ['{"broken', JSON_TYPE],
    ['anything', { 'content-type': 'application/octet-stream' }],
    ['anything', { 'content-type': 'not a type; at all' }],
    ['anything', { 'content-type': '' }],
    ['anything', {}],
  ]
  for (const [payload, headers] of bodies) {
    const response = await app.inject({ method: 'POST', url: '/notes/clear', headers, ...(payload !== undefined && { payload }) })
    assert.deepEqual([response.statusCode, response.body], [204, ''])
  }
  assert.deepEqual(new Set(seen), new Set([undefined]))
})

test('413: a body over 64 KiB; 200: a body of exactly 64 KiB', async (t) => {
  const { app, seen } = notes(t)
  refused(await app.inject({ method: 'POST', url: '/notes/', headers: JSON_TYPE, payload: TOO_LARGE }), 413, 'Request body is too large')
  assert.deepEqual(seen, [])
  const fits = JSON.stringify({ note: 'x'.repeat(64 * 1024 - '{"note":""}'.length) })
  assert.equal(fits.length, 64 * 1024)
  assert.equal((await app.inject({ method: 'POST', url: '/notes/', headers: JSON_TYPE, payload: fits })).statusCode, 200)
})

test('401 before 413: the body of an unauthenticated request is not read', async (t) => {
  const testApp = await startApp(t)
  const mia = await member(testApp)
  const send = (headers: Record<string, string>) =>
    testApp.app.inject({ method: 'POST', url: '/logout/', headers: { ...JSON_TYPE, ...headers }, payload: TOO_LARGE })
  refused(await send({}), 401, 'Not authenticated. Use either JWT token or API key.')
  refused(await send({ authorization: 'Bearer x' }), 401, 'That token is Invalid')
  refused(await send(mia.headers), 413, 'Request body is too large')
})

test('404: a path that cannot be decoded', async (t) => {
  const { app } = notes(t)
  for (const url of ['/notes/%', '/notes/%zz', '/%c3%28', '/api/v1/%']) {
    const response = await app.inject({ url, headers: { origin: 'https://app.example.com' } })
    refused(response, 404, 'Not Found')
    assert.equal(response.headers['x-content-type-options'], 'nosniff')
    assert.match(String(response.headers['x-request-id']), /^[\w-]+$/)
    assert.equal(response.headers['access-control-allow-origin'], '*')
  }
})

test('200, 422: an id of any length reaches its route', async (t) => {
  const { app } = notes(t)
  const put = (id: string) => app.inject({ method: 'PUT', url: `/notes/${id}` })
  assert.deepEqual((await put('7')).json(), { note_id: 7 })
  assert.deepEqual((await put('9'.repeat(8000))).json(), { note_id: Number.MAX_SAFE_INTEGER })
  for (const id of ['x'.repeat(8000), '0x10', '1e3', '+1', '1.0', '-1', '%20', '1%00']) {
    invalid(await put(id), { loc: ['path', 'note_id'], type: 'int_parsing' })
  }
})

test('422: a repeated query parameter', async (t) => {
  const { app, seen } = notes(t)
  invalid(await app.inject('/notes/?page=1&page=1'), { loc: ['query', 'page'], type: 'value_error' })
  invalid(await app.inject('/notes/?page='), { loc: ['query', 'page'], type: 'int_parsing' })
  invalid(await app.inject('/notes/?page=0'), { loc: ['query', 'page'], type: 'greater_than_equal' })
  const others = ['other', '__proto__', '%zz'].map((name) => ({ loc: ['query', name], type: 'value_error' }))
  invalid(await app.inject('/notes/?other=1&other=2&__proto__=x&__proto__=x&%zz=1'), ...others)
  assert.deepEqual(seen, [])
  assert.equal((await app.inject('/notes/?other=1&__proto__=x')).statusCode, 200)
})

test('500, 503: anything that is thrown becomes an answer that reveals nothing', async (t) => {
  const logged: string[] = []
  const app = failing(t, { logger: pino({ level: 'error' }, { write: (line) => void logged.push(line) }) })
  for (const name of ['error', 'status-error', 'text', 'object', 'null', 'nothing', 'unserialisable', 'cyclic']) {
    await t.test(name, async () => {
      const response = await app.inject(`/${name}`)
      refused(response, 500, 'Internal Server Error')
      assert.doesNotMatch(JSON.stringify(response.headers), /secret/i)
      assert.equal(response.headers['content-type'], 'application/json; charset=utf-8')
    })
  }
  const unavailable = await app.inject('/unavailable')
  refused(unavailable, 503, 'Service Unavailable')
  assert.equal(unavailable.headers['retry-after'], '2')
  // The operator finds the reason in the log.
  assert.match(logged.join(''), /secret detail/)
})

test('a client that disconnects while its request is handled is neither an error nor an outage: nothing is logged', async (t) => {
  const logged: string[] = []
  const logger = pino({ level: 'info' }, { write: (line) => void logged.push(line) })
  const app = startSkeleton(
    t,
    (routes) => {
      const schema = { response: { 204: Empty, ...refusals(503) } }
      routes.post('/left', { config: { access: 'public', writes: true }, schema }, async () => {
        throw new Abandoned()
      })
    },
    { logger },
  )
  refused(await app.inject({ method: 'POST', url: '/left' }), 503, 'Service Unavailable')
  assert.deepEqual(logged, [])
})

test('every response has the security headers and a request id, refusals too', async (t) => {
  const { app } = notes(t)
  const down = failing(t)
  const responses = [
    await app.inject('/notes/'),
    await app.inject({ method: 'HEAD', url: '/notes/' }),
    await app.inject({ method: 'POST', url: '/notes/' }),
    await app.inject({ method: 'DELETE', url: '/notes/' }),
    await app.inject('/nothing'),
    await app.inject('/%'),
    await app.inject({ method: 'POST', url: '/notes/', payload: TOO_LARGE, headers: JSON_TYPE }),
    await app.inject({ method: 'OPTIONS', url: '/notes/', headers: { origin: 'https://a.io', 'access-control-request-method': 'POST' } }),
    await down.inject('/error'),
    await down.inject('/unavailable'),
  ]
  for (const { headers } of responses) {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) assert.equal(headers[name], value)
    assert.match(String(headers['x-request-id']), /^[\w-]+$/)
    assert.equal(headers['set-cookie'], undefined)
  }
  assert.equal(new Set(responses.map(({ headers }) => headers['x-request-id'])).size, responses.length)
})

test('the request id of a trusted proxy is used, and that of any other client is not', async (t) => {
  const given = async (app: App, id: string) =>
    (await app.inject({ url: '/notes/', headers: { 'x-request-id': id } })).headers['x-request-id']
  assert.notEqual(await given(notes(t).app, 'abc-1'), 'abc-1')
  const { app } = notes(t, { trustProxy: true })
  assert.equal(await given(app, 'abc-1'), 'abc-1')
  assert.notEqual(await given(app, 'a b\u00e9'), 'a b\u00e9')
  assert.notEqual(await given(app, 'x'.repeat(65)), 'x'.repeat(65))
})

test('CORS: every origin may read by default, and credentials are never allowed', async (t) => {
  const { app } = notes(t)
  const { headers } = await app.inject({ url: '/notes/', headers: { origin: 'https://a.io' } })
  assert.equal(headers['access-control-allow-origin'], '*')
  assert.equal(headers['access-control-expose-headers'], 'Retry-After, WWW-Authenticate, X-Error-Code, X-Request-Id')
  assert.equal(headers['access-control-allow-credentials'], undefined)
})

test('CORS: with a list, only an origin on the list is allowed', async (t) => {
  const { app } = notes(t, { corsOrigins: ['https://a.io', 'https://b.io'] })
  const allowedFor = async (origin?: string) => {
    const { headers } = await app.inject({ url: '/nothing', headers: origin === undefined ? {} : { origin } })
    assert.equal(headers.vary, 'Origin')
    return headers['access-control-allow-origin']
  }
  assert.equal(await allowedFor('https://b.io'), 'https://b.io')
  for (const origin of [undefined, 'https://c.io', 'https://a.io.evil.io', 'http://a.io', 'null', 'https://A.io']) {
    assert.equal(await allowedFor(origin), undefined)
  }
})

test('204: a preflight is answered for every path, without credentials', async (t) => {
  const { app } = notes(t)
  const preflight = (url: string, headers = {}) =>
    app.inject({ method: 'OPTIONS', url, headers: { origin: 'https://a.io', 'access-control-request-method': 'PUT', ...headers } })
  for (const url of ['/notes/', '/api/v1/notes/7', '/nothing']) {
    const { statusCode, headers, body } = await preflight(url)
    assert.deepEqual([statusCode, body], [204, ''])
    assert.equal(headers['access-control-allow-methods'], 'GET, HEAD, POST, PUT, PATCH, DELETE')
    assert.equal(headers['access-control-allow-headers'], 'Authorization, Content-Type, X-API-Key')
    assert.equal(headers['access-control-max-age'], '600')
  }
  refused(await app.inject({ method: 'OPTIONS', url: '/notes/', headers: { origin: 'https://a.io' } }), 405, 'Method Not Allowed')
})

test('a route that does not declare its access, accepted keys, writes or responses stops the start', (t) => {
  const start = (options: object) => () => startSkeleton(t, (routes) => void routes.get('/odd', options, async () => ({})))
  for (const access of ['user', 'self', 'admin'])
    assert.throws(start({ config: { access, writes: false }, schema: { response: {} } }), {
      message: 'GET /odd does not declare acceptedKeys',
    })
  assert.throws(start({ schema: { response: {} } }), { message: 'GET /odd declares no access' })
  assert.throws(start({ config: { access: 'public' }, schema: { response: {} } }), {
    message: 'GET /odd does not declare whether it writes',
  })
  assert.throws(start({ config: PUBLIC }), { message: 'GET /odd declares no responses' })
  assert.throws(start({ config: PUBLIC, schema: {} }), { message: 'GET /odd declares no responses' })
})

test('a route of the console or the account pages that is not declared as a page stops the start, and so does a page that is part of the API', (t) => {
  const start =
    (url: string, config: object, schema: object = { hide: true }) =>
    () =>
      startSkeleton(
        t,
        (routes) => void routes.get(url, { config: { writes: false, ...config }, schema: { response: {}, ...schema } }, async () => ''),
      )
  for (const url of ['/console', '/console/odd', '/account/', '/account/:odd'])
    assert.throws(start(url, { access: 'public' }), { message: `GET ${url} is not declared as a page` })
  assert.throws(start('/console/odd', { access: 'admin', page: 'console', hasOneAddress: true, acceptedKeys: 'full' }), {
    message: 'GET /console/odd is a page, which accepts no API keys',
  })
  assert.throws(start('/account/odd', { access: 'self', page: 'account', hasOneAddress: true }), {
    message: 'GET /account/odd is a page, for every user or for admins',
  })
  assert.throws(start('/account/odd', { access: 'user', page: 'account', hasOneAddress: true }, {}), {
    message: 'GET /account/odd is a page, which is not part of the API',
  })
  const form = {
    config: { access: 'user', page: 'account', hasOneAddress: true, writes: true },
    schema: { response: {}, hide: true },
  } as const
  assert.throws(() => startSkeleton(t, (routes) => void routes.post('/account/odd', form, async () => '')), {
    message: 'POST /account/odd does not declare whether it asks for the password',
  })
  assert.throws(start('/account/odd', { access: 'user', page: 'account' }), {
    message: 'GET /account/odd is a page, but does not declare that it has one address',
  })
  assert.doesNotThrow(start('/account/odd', { access: 'user', page: 'account', hasOneAddress: true }))
  assert.doesNotThrow(start('/accounts', { access: 'public' }))
})

test('a route for this machine only that needs no token stops the start, unless the settings disable it', (t) => {
  const start = (config: object) => () =>
    startSkeleton(
      t,
      (routes) => void routes.get('/odd', { config: { ...PUBLIC, isLocal: true, ...config }, schema: { response: {} } }, async () => ''),
    )
  assert.throws(start({}), { message: 'GET /odd is for this machine only, but needs no token' })
  assert.doesNotThrow(start({ queryToken: 'a-token-for-tests' }))
  assert.doesNotThrow(start({ isDisabled: true }))
})

test('a route that refuses some keys and does not declare 403 does not start', (t) => {
  const config = { access: 'user', acceptedKeys: 'full', writes: false } as const
  const schema = { response: { 200: Type.Unknown(), ...refusals(401) } }
  assert.throws(() => startSkeleton(t, (routes) => void routes.get('/odd', { config, schema }, async () => ({}))), {
    message: 'GET /odd refuses some API keys, but does not declare 403',
  })
})

test('a route that accepts read-only keys with a method other than GET stops the start', (t) => {
  for (const method of ['POST', ['GET', 'DELETE']]) {
    const config = { access: 'user', acceptedKeys: 'read', writes: true } as const
    const route = { method, url: '/odd', config, schema: { response: {} }, handler: async () => ({}) }
    assert.throws(() => startSkeleton(t, (routes) => void routes.route(route)), {
      message: `${method} /odd accepts keys that may only read`,
    })
  }
})

test('no refusal of any route has the error format of the framework', async (t) => {
  const testApp = await startApp(t)
  const { headers } = await admin(testApp)
  const paths = ['/register/', '/login/', '/refresh/', '/verify/', '/reset-password/', '/logout/', '/heartbeat', '/%', '/nothing']
  for (const url of paths) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE'] as const) {
      for (const contentType of ['application/json', 'odd', 'text/plain']) {
        const response = await testApp.app.inject({ method, url, headers: { ...headers, 'content-type': contentType }, payload: '{"a":' })
        if (response.statusCode < 400 || String(response.headers['content-type']).startsWith('text/html')) continue
        assert.deepEqual(Object.keys(response.json()), ['detail'], `${method} ${url}`)
      }
    }
  }
})

test('200: a body that may be absent counts as empty when it is not sent, and is validated when it is', async (t) => {
  const body = Type.Object({ note: Type.Optional(Type.String()) }, { mayBeAbsent: true })
  const app = startSkeleton(t, (routes) => {
    const schema = { body, response: { 200: Type.Unknown(), ...refusals(413) } }
    routes.post('/notes/', { config: PUBLIC, schema }, async (request) => request.body)
  })
  const send = (headers: Record<string, string>, payload?: string) =>
    app.inject({ method: 'POST', url: '/notes/', headers, ...(payload !== undefined && { payload }) })
  for (const headers of [{}, JSON_TYPE, { 'content-type': 'text/plain' }])
    assert.deepEqual([(await send(headers)).statusCode, (await send(headers, '')).json()], [200, {}])
  assert.deepEqual((await send(JSON_TYPE, '{"note":"a","other":1}')).json(), { note: 'a' })
  invalid(await send(JSON_TYPE, '{"note":5}'), { loc: ['body', 'note'], type: 'string_type' })
  invalid(await send({ 'content-type': 'text/plain' }, 'note'), { loc: ['body'], type: 'model_attributes_type' })
  invalid(await send(JSON_TYPE, ' '), { loc: ['body'], type: 'json_invalid' })
})
