import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { generateApiKey } from '../../src/security/api-key-secret.ts'
import { anyText } from '../support/any-text.ts'
import { admin, keyHolder, member } from '../support/app/actors.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { type ContractContext, test } from '../support/databases/databases.ts'
import { routesWith, rowOf, urlOf } from '../support/http/api-routes.ts'
import { forge, payloadOf, unsigned } from '../support/http/forged-tokens.ts'
import { EVERY_ROUTE } from '../support/http/routes.ts'
import { issueToken } from '../support/servers/offline-verifier.ts'

type Request = { readonly route: string; readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'; readonly url: string }

/** Every protected route, for these ids. */
function protectedRoutes(userId: number, keyId: string): Request[] {
  return routesWith(({ access }) => access !== 'public').map((route) => {
    const [method, path = ''] = route.split(' ')
    return { route, method: method as 'GET', url: urlOf(path, { user_id: userId, key_id: keyId, session_id: keyId, id: keyId }) }
  })
}

const runs = ({ database }: ContractContext, numRuns: number) => ({ numRuns: database === 'postgres' ? numRuns / 4 : numRuns })

/** An error in the usual format, with one of these statuses. */
function refusedWith(response: LightMyRequestResponse, statuses: readonly number[], what: string): void {
  const { statusCode, body } = response
  assert.ok(statuses.includes(statusCode), `${what}: ${statusCode} ${body}`)
  const { detail, ...rest } = response.json()
  assert.deepEqual(rest, {})
  assert.equal(Array.isArray(detail), statusCode === 422, what)
  assert.equal(typeof response.headers['x-error-code'], 'string')
  const names = Object.keys(response.headers).filter((name) => name.startsWith('latchkey'))
  assert.deepEqual(names, [], 'a refusal says nothing about anybody')
}

// Everything that a header may contain.
const headerText = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
})

/** Credentials that are nearly right. */
async function spoiledCredentials(service: TestApp): Promise<fc.Arbitrary<Record<string, string>>> {
  const boss = await admin(service)
  const { key } = await keyHolder(service, boss)
  const offline = await issueToken(service.app, boss)
  const payload = payloadOf(boss.token)
  const changed = (claims: object) => forge({ payload: { ...payload, ...claims } })
  const tokens = [
    boss.refresh,
    offline,
    unsigned(payload),
    unsigned(payload, 'HS256'),
    ...['HS384', 'HS512', 'ES256', 'none', 'hs256'].map((alg) => forge({ header: { alg, typ: 'JWT' }, payload })),
    forge({ header: { alg: 'HS256', crit: null }, payload }),
    forge({ header: { alg: 'HS256', crit: ['exp'] }, payload }),
    forge({ payload, secret: 'another secret that is long enough to be one' }),
    ...['refresh', 'verify', 'reset', 'at+jwt', '', null, 1].map((typ) => changed({ typ })),
    ...[undefined, null, 'x', Number.MAX_VALUE * -1, 0].map((exp) => changed({ exp })),
    ...[undefined, null, '', '0', '-1', '1.5', 1e21, true, {}, `${boss.id} `].map((sub) => changed({ sub })),
    ...[undefined, null, '', 'x'.repeat(65), randomUUID(), 5, ["' or 1=1"]].map((sid) => changed({ sid })),
    key,
  ]
  const flipped = fc
    .tuple(fc.constantFrom(boss.token, key), fc.double({ min: 0, max: 0.8, noNaN: true }), fc.constantFrom('A', '_', '.', ' ', 'ÿ'))
    .map(([text, share, character]) => {
      const place = Math.floor(share * text.length)
      return text[place] === character
        ? `${text.slice(0, place)}${text.slice(place + 1)}`
        : text.slice(0, place) + character + text.slice(place + 1)
    })
  const wrongKeys = [
    generateApiKey('lk'),
    generateApiKey('zz'),
    key.toUpperCase(),
    `${key}${key}`,
    `${key}, ${key}`,
    key.replace('lk_', 'kl_'),
    boss.token,
  ]
  const scheme = fc.constantFrom('Bearer ', 'bearer ', 'BEARER   ')
  const bearer = fc
    .tuple(scheme, fc.oneof(fc.constantFrom(...tokens), flipped, headerText))
    .map(([name, token]) => ({ authorization: name + token }))
  const apiKey = fc
    .oneof(
      fc.constantFrom(...wrongKeys),
      flipped.filter((text) => text !== key),
      headerText,
    )
    .map((text) => ({ 'x-api-key': text }))
  // A bearer header decides, even beside a key that is right.
  return fc.oneof(
    bearer,
    apiKey,
    bearer.map((headers) => ({ ...headers, 'x-api-key': key })),
  )
}

test('401: no hostile token or key opens a route, and none causes an error', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  const { id } = await member(service)
  const routes = protectedRoutes(id, randomUUID())
  const credentials = await spoiledCredentials(service)
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...routes), credentials, async ({ method, url }, headers) => {
      const payload = method !== 'GET' && method !== 'DELETE' && { payload: { token: 'x', audience: 'x' } }
      const response = await service.app.inject({ method, url, headers, ...payload })
      refusedWith(response, [401], `${method} ${url} ${JSON.stringify(headers)}`)
    }),
    runs(t, 1200),
  )
})

const anything = fc.oneof(fc.jsonValue(), anyText(), fc.constantFrom<unknown>(null, '', 0, -1, [], {}, [[]], '\u0000', '\ud800'))
const FIELDS = [
  'token',
  'token_type_hint',
  'audience',
  'lifetime_seconds',
  'name',
  'scopes',
  'access',
  'expires_at',
  'is_active',
  'overlap_seconds',
  'password',
  'code',
  'passkey',
  'credential',
]
const FOREIGN = ['id', 'user_id', 'role', 'key', 'key_hash', '__proto__', 'constructor']
const body = fc.oneof(
  { arbitrary: fc.dictionary(fc.constantFrom(...FIELDS, ...FOREIGN), anything).map((value) => JSON.stringify(value)), weight: 4 },
  { arbitrary: anything.map((value) => JSON.stringify(value) ?? ''), weight: 1 },
  { arbitrary: anyText(), weight: 1 },
)

test('200, 400, 403, 404, 422: any body and any caller get an answer in the usual format', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  const [mia, boss] = [await member(service), await admin(service)]
  const spare = await keyHolder(service, mia)
  const callers = [
    mia,
    boss,
    await keyHolder(service, mia, { access: 'read' }),
    await keyHolder(service, boss, { access: 'identify' }),
    await keyHolder(service, boss),
  ]
  // The callers themselves must stay: a key that disables itself and a session that ends are tested elsewhere.
  const ending = ['POST /logout/', 'PUT /users/me', 'POST /users/me/password']
  const { id: otherId } = await member(service)
  const routes = protectedRoutes(otherId, spare.keyId).filter(
    ({ route, method, url }) => !ending.includes(route) && (method !== 'DELETE' || url.includes(spare.keyId)),
  )
  const types = fc.constantFrom('application/json', 'application/json', 'application/x-www-form-urlencoded', 'text/plain')
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...routes),
      fc.constantFrom(...callers),
      body,
      types,
      async ({ route, method, url }, { headers }, payload, type) => {
        const response = await service.app.inject({ method, url, headers: { ...headers, 'content-type': type }, payload })
        if ([rowOf(route).success].flat().includes(response.statusCode)) return
        // Wrong codes have a limit.
        const limited = url === '/users/me/confirm' ? [429] : []
        refusedWith(response, [400, 403, 404, 422, ...limited], `${method} ${url} ${payload}`)
      },
    ),
    runs(t, 1200),
  )
})

test('200, 422: any report of leaked keys is answered item by item or refused as a whole, and only real keys are true', async (t) => {
  const service = await startApp(t)
  const { key } = await keyHolder(service, await member(service))
  const token = fc.oneof(anyText({ maxLength: 60 }), fc.constantFrom(key, generateApiKey('lk'), `${key} `, key.slice(1), ''), anything)
  const item = fc.record({ token, type: fc.oneof(fc.string(), anything), url: anything, source: anything }, { requiredKeys: [] })
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.array(item, { maxLength: 5 }), anything), async (findings) => {
      const request: InjectOptions = { method: 'POST', url: '/auth/leaked', headers: { 'content-type': 'application/json' } }
      const response = await service.app.inject({ ...request, payload: JSON.stringify(findings) })
      if (response.statusCode !== 200) return refusedWith(response, [422], JSON.stringify(findings))
      const expected = (findings as { token: string; type: string }[]).map((finding) => ({
        token_raw: finding.token,
        token_type: finding.type,
        label: finding.token === key ? 'true_positive' : 'false_positive',
      }))
      assert.deepEqual(response.json(), expected)
    }),
    runs(t, 600),
  )
})

test('200, 422: any expiry is the moment that it names, in the future, or it is refused', async (t) => {
  const service = await startApp(t)
  const { headers, keyId } = await keyHolder(service, await member(service))
  const digits = (length: number) => fc.integer({ min: 0, max: 10 ** length - 1 }).map((n) => String(n).padStart(length, '0'))
  const exact = fc
    .tuple(
      fc.integer({ min: 2020, max: 2040 }),
      digits(2),
      digits(2),
      digits(2),
      digits(2),
      fc.constantFrom('', ':00', ':59.5', ':60', ':1'),
      fc.constantFrom('Z', '+02:00', '-23:59', '+24:00', ''),
    )
    .map(([year, month, day, hour, minute, second, offset]) => `${year}-${month}-${day}T${hour}:${minute}${second}${offset}`)
  const real = fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
  const near = fc.integer({ min: -2, max: 2 }).map((ms) => new Date(service.clock.now() + ms).toISOString())
  await fc.assert(
    fc.asyncProperty(fc.oneof(exact, real, near, anything), async (expiry) => {
      const request = {
        method: 'PATCH',
        url: `/users/keys/${keyId}?details=true`,
        headers: { ...headers, 'content-type': 'application/json' },
      } as const
      const response = await service.app.inject({ ...request, payload: JSON.stringify({ expires_at: expiry }) })
      if (response.statusCode !== 200) return refusedWith(response, [422], JSON.stringify(expiry))
      const { expires_at: stored } = response.json<{ expires_at: string | null }>()
      if (expiry === null) return assert.equal(stored, null)
      assert.equal(Date.parse(stored ?? ''), Date.parse(String(expiry)), String(expiry))
      assert.ok(Date.parse(String(expiry)) > service.clock.now())
    }),
    runs(t, 1200),
  )
})
