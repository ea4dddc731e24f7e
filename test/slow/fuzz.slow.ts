import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import { generateApiKey } from '../../src/security/api-key-secret.ts'
import { statement } from '../../src/storage/database.ts'
import { anyText } from '../support/any-text.ts'
import { type Actor, admin, member } from '../support/app/actors.ts'
import { eventually } from '../support/app/eventually.ts'
import { addPasskey, turnOn } from '../support/app/second-factor.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { type ContractContext, type DatabaseKind, test } from '../support/databases/databases.ts'
import { type ApiDocument, type ListedOperation, operationsOf } from '../support/http/openapi.ts'
import { injectPatiently } from '../support/http/patience.ts'
import { EVERY_ROUTE } from '../support/http/routes.ts'
import { EVERYTHING_ON, fromAnywhere } from '../support/processes/all-settings.ts'
import { scaled } from '../support/processes/scale.ts'
import { WEBHOOK_SECRET } from '../support/servers/webhook-receiver.ts'

type Schema = ApiDocument['components']['schemas'][string] & {
  /** A field that may be null has two types. */
  readonly type?: string | string[]
  readonly format?: string
  readonly anyOf?: Schema[]
}

/** The parts of a request, without its caller. */
type FuzzRequest = {
  readonly operation: ListedOperation
  readonly path: string
  readonly body: string | undefined
  readonly contentType: string | undefined
  readonly accept: string | undefined
  readonly sender: Sender
}

/** Callers that every protected operation must reject. */
const STRANGERS = ['nobody', 'wrong token', 'empty bearer', 'wrong key', 'both', 'banned', 'unverified'] as const
const SENDERS = [...STRANGERS, 'member', 'key', 'admin'] as const
type Sender = (typeof SENDERS)[number]

/** Part of every body: no error may contain it. */
const ECHO = 'canary-8d1f'

const NASTY = [
  '',
  ' ',
  "' or '1'='1' --",
  '"; drop table users; --',
  '%',
  '_',
  '\\',
  '%00',
  '\u0000',
  '\u0007',
  '\ud800',
  '\u202e',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: what a template engine would evaluate is sent as it stands.
  '${7*7}',
  '{{7*7}}',
  '__proto__',
  'constructor',
  'null',
  'true',
  '1e3',
  '0x10',
  '+1',
  '-1',
  '1.0',
  '9'.repeat(40),
  'é'.repeat(120),
  'a'.repeat(3000),
  'a@x.io,b@y.io',
  `${ECHO}@example.com`,
  ECHO,
]
const FOREIGN_FIELDS = ['id', 'user_id', 'role', 'verified', 'banned', 'key', 'is_active', '__proto__', 'constructor', 'toString', '']

const text = fc.oneof(fc.constantFrom(...NASTY), anyText({ maxLength: 40 }), fc.string({ unit: 'grapheme', maxLength: 40 }))
const anything = fc.oneof(
  text,
  fc.jsonValue(),
  fc.integer(),
  fc.double(),
  fc.constantFrom<unknown>(null, true, [], {}, [[[[]]]], { a: { b: {} } }),
)

/** Values that fit a schema, most of the time. */
function fitting(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(fitting))
  const types = [schema.type].flat()
  if (types.includes('boolean')) return fc.boolean()
  if (types.includes('integer')) return fc.nat({ max: 60 })
  if (types.includes('array')) return fc.array(fc.string({ maxLength: 12 }), { maxLength: 4 })
  if (schema.format === 'date-time') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
  if (schema.format === 'email') return fc.nat({ max: 5000 }).map((n) => `fuzz${n}@example.com`)
  if (schema.format === 'uuid') return fc.uuid()
  if (types.includes('object')) return credential
  return fc.string({ unit: 'grapheme', minLength: 8, maxLength: 20 })
}

/** What a browser returns of an authenticator: right in its shape, and wrong in everything else. */
const base64url = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('base64url'))
const clientData = fc
  .record({ type: fc.constantFrom('webauthn.get', 'webauthn.create', ECHO), challenge: fc.oneof(base64url, anything), origin: text })
  .map((data) => Buffer.from(JSON.stringify(data)).toString('base64url'))
const credential = fc.record(
  {
    id: fc.oneof(base64url, text),
    rawId: fc.oneof(base64url, text),
    type: fc.constant('public-key'),
    response: fc.oneof(
      fc.record(
        { clientDataJSON: fc.oneof(clientData, text), attestationObject: base64url, authenticatorData: base64url, signature: base64url },
        { requiredKeys: ['clientDataJSON'] },
      ),
      anything,
    ),
  },
  { requiredKeys: ['id', 'type'] },
)

function field(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: fitting(schema), weight: 5 }, { arbitrary: anything, weight: 1 })
}

function bodyOf({ components }: ApiDocument, { operation }: ListedOperation): fc.Arbitrary<string | undefined> {
  const given = Object.values(operation.requestBody?.content ?? {})[0]?.schema
  const resolve = (schema: Schema | undefined) => (schema?.$ref ? components.schemas[schema.$ref.split('/').at(-1) ?? ''] : schema)
  const isList = given?.items !== undefined
  const schema = resolve(isList ? given.items : given)
  const fields = Object.entries(schema?.properties ?? {}).map(([name, property]) => [name, field(property)] as const)
  const known = fc.record(Object.fromEntries(fields), { requiredKeys: [] })
  const whole = fc.record(Object.fromEntries(fields))
  const foreign = fc.dictionary(fc.constantFrom(...FOREIGN_FIELDS), anything, { maxKeys: 3 })
  const object = fc.tuple(fc.oneof(whole, known), foreign).map(([one, other]) => ({ ...other, ...one, extra: ECHO }))
  const body: fc.Arbitrary<unknown> = isList ? fc.array(object, { maxLength: 4 }) : object
  return fc.oneof(
    { arbitrary: body.map((value) => JSON.stringify(value)), weight: 8 },
    { arbitrary: anything.map((value) => JSON.stringify(value)), weight: 1 },
    { arbitrary: text, weight: 1 },
    { arbitrary: fc.constant(undefined), weight: 1 },
  )
}

function pathOf({ path, operation }: ListedOperation, ids: () => Readonly<Record<string, string[]>>): fc.Arbitrary<string> {
  const parameters = operation.parameters ?? []
  const values = parameters.map(({ name, in: place }) =>
    fc.record({
      name: fc.constant(name),
      place: fc.constant(place),
      isGiven: fc.nat({ max: 9 }).map((n) => place === 'path' || n > 1),
      isTwice: fc.nat({ max: 30 }).map((n) => n === 0),
      value: fc.oneof(
        fc.nat({ max: 100 }).map((n) => ids()[name]?.[n % (ids()[name]?.length ?? 1)] ?? String(n)),
        fc.nat({ max: 60 }).map(String),
        fc.uuid(),
        text,
      ),
    }),
  )
  return fc.tuple(fc.constantFrom('', '/api/v1'), fc.boolean(), ...values).map(([prefix, slash, ...given]) => {
    const inPath = given.filter(({ place }) => place === 'path')
    const filled = inPath.reduce((url, { name, value }) => url.replace(`{${name}}`, encoded(value) || '0'), path)
    const query = given
      .filter(({ place, isGiven }) => place === 'query' && isGiven)
      .flatMap(({ name, value, isTwice }) => {
        const pair = `${name}=${encoded(value)}`
        return isTwice ? [pair, pair] : [pair]
      })
    const end = slash && !filled.endsWith('/') ? `${filled}/` : filled
    return `${prefix}${end}${query.length > 0 ? `?${query.join('&')}` : ''}`
  })
}

/** A lone surrogate has no UTF-8 form, so its bytes are sent, which are invalid. A single dot would be interpreted as a path segment. */
function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed()).replace(/^\.{1,2}$/, '...')
}

function fuzzRequests(
  document: ApiDocument,
  operations: readonly ListedOperation[],
  ids: () => Readonly<Record<string, string[]>>,
): fc.Arbitrary<FuzzRequest> {
  const byOperation = operations.map((operation) =>
    fc.record({
      operation: fc.constant(operation),
      path: pathOf(operation, ids),
      body: operation.method === 'GET' ? fc.constant(undefined) : bodyOf(document, operation),
      contentType: fc.oneof(
        { arbitrary: fc.constant('application/json'), weight: 12 },
        {
          arbitrary: fc.constantFrom(
            undefined,
            'text/plain',
            'application/x-www-form-urlencoded',
            'multipart/form-data; boundary=x',
            'application/json; charset=latin1',
            '/',
          ),
          weight: 1,
        },
      ),
      accept: fc.constantFrom(undefined, '*/*', 'application/json', 'text/html'),
      sender: fc.constantFrom(...SENDERS),
    }),
  )
  return fc.oneof(...byOperation)
}

// Split over both databases, by injection and over real sockets.
const REQUESTS = scaled(20_000, 200_000)
const SHARES: Record<DatabaseKind, { injected: number; sent: number }> = {
  sqlite: { injected: 0.5, sent: 0.1 },
  postgres: { injected: 0.35, sent: 0.05 },
}
const VARIANTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'default settings': {},
  // Nothing sends the webhooks; they are only written.
  'everything on': { ...EVERYTHING_ON, WEBHOOK_URL: 'http://127.0.0.1:9/', WEBHOOK_SECRET },
}
/** Paths that a setting or a rule may take out of the document: then nothing would be sent to them. */
const NEW_PATHS = ['/login/second-factor', '/login/passkey', '/users/me/confirm', '/users/me/second-factor', '/users/me/passkeys']
const RECAST_AFTER = 300
const BAN = statement('update users set banned = true where id = $1')

type Reply = { readonly status: number; readonly contentType: string; readonly body: string }
type Cast = { readonly headers: Record<Sender, Record<string, string>>; readonly ids: Record<string, string[]>; readonly bannedId: number }

/** Creates one caller of each kind. The fuzzer deletes and bans them, so they are created again from time to time. */
async function gatherCast(testApp: TestApp): Promise<Cast> {
  const [someone, boss, banned, unverified] = [
    await member(testApp),
    await admin(testApp),
    await member(testApp),
    await member(testApp, { verified: false }),
  ]
  const creation = { method: 'POST', url: '/users/keys', headers: { ...someone.headers }, payload: { name: 'fuzz' } } as const
  const made = await injectPatiently(testApp.app, creation)
  const { id, key } = made.json<{ id: string; key: string }>()
  // Routes about second factors answer differently once there is one.
  const { id: passkeyId } = await addPasskey(testApp, someone)
  if (Math.random() < 0.5) await turnOn(testApp, someone)
  const bearer = ({ token }: Actor) => ({ authorization: `Bearer ${token}` })
  return {
    headers: {
      nobody: {},
      'wrong token': { authorization: `Bearer ${spoiled(boss.token)}` },
      'empty bearer': { authorization: 'Bearer ' },
      'wrong key': { 'x-api-key': generateApiKey('lk') },
      both: { authorization: 'Bearer nonsense', 'x-api-key': key },
      member: bearer(someone),
      key: { 'x-api-key': key },
      admin: bearer(boss),
      banned: bearer(banned),
      unverified: bearer(unverified),
    },
    ids: { user_id: [String(someone.id), String(banned.id), String(boss.id)], key_id: [id], id: [passkeyId] },
    bannedId: banned.id,
  }
}

/** Changes the first character of the signature. The last characters have several spellings, so changing them may change nothing. */
function spoiled(token: string): string {
  return token.replace(/\.([^.])([^.]*)$/, (_, first, rest) => `.${first === 'x' ? 'y' : 'x'}${rest}`)
}

test(`${REQUESTS} requests generated from /openapi.json: no 5xx, no malformed error, no undeclared status, no unauthorised access`, async (t) => {
  for (const [settings, env] of Object.entries(VARIANTS)) {
    const { operations, count, statuses } = await fuzz(t, env)
    report(t, settings, operations, count, statuses)
  }
})

/** Sends one half of the requests to a service with these settings. */
async function fuzz(t: ContractContext, env: Readonly<Record<string, string>>) {
  const testApp = await startApp(t, { env: { METRICS_ENABLED: 'true', PLANS: EVERY_ROUTE.PLANS, ...env } })
  const document = (await testApp.app.inject('/openapi.json')).json<ApiDocument>()
  const operations = operationsOf(document)
  for (const path of NEW_PATHS)
    assert.ok(
      operations.some((operation) => operation.path.startsWith(path)),
      path,
    )
  const url = await testApp.app.listen({ port: 0 })
  const { injected, sent } = SHARES[t.database]
  const statuses = new Map<number, number>()
  let cast = await gatherCast(testApp)
  let count = 0

  const deliver = (isSent: boolean) => async (request: FuzzRequest) => {
    count++
    if (count % RECAST_AFTER === 0) cast = await gatherCast(testApp)
    // An admin among the callers may have lifted the ban.
    if (request.sender === 'banned') await testApp.db.run(BAN, cast.bannedId)
    // Half of the requests come from one address and meet its limits.
    const headers = { ...(count % 2 === 0 && fromAnywhere()), ...cast.headers[request.sender], ...parts(request) }
    // A busy machine may be too slow for a request once. One that is always answered with 503 fails.
    const reply = await eventually(`${request.operation.method} ${request.path} is not answered with 503`, async () => {
      const given = isSent ? await send(url, request, headers) : await inject(testApp, request, headers)
      statuses.set(given.status, (statuses.get(given.status) ?? 0) + 1)
      return given.status === 503 ? undefined : given
    })
    assertResponses(request, reply)
  }
  const requests = fuzzRequests(document, operations, () => cast.ids)
  const settings = { verbose: 0, endOnFailure: true } as const
  await fc.assert(fc.asyncProperty(requests, deliver(false)), { ...settings, numRuns: Math.round((REQUESTS * injected) / 2) })
  await fc.assert(fc.asyncProperty(requests, deliver(true)), { ...settings, numRuns: Math.round((REQUESTS * sent) / 2) })
  return { operations: operations.length, count, statuses }
}

function report(t: TestContext, settings: string, operations: number, count: number, statuses: ReadonlyMap<number, number>): void {
  const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, times]) => `${status}: ${times}`)
  t.diagnostic(`${settings}: ${count} requests to ${operations} operations (${counts.join(', ')})`)
}

function parts({ body, contentType, accept }: FuzzRequest): Record<string, string> {
  return { ...(accept && { accept }), ...(body !== undefined && contentType && { 'content-type': contentType }) }
}

async function inject({ app }: TestApp, { operation, path, body }: FuzzRequest, headers: Record<string, string>): Promise<Reply> {
  const response = await app.inject({ method: operation.method, url: path, headers, ...(body !== undefined && { payload: body }) })
  return { status: response.statusCode, contentType: String(response.headers['content-type'] ?? ''), body: response.body }
}

async function send(url: string, { operation, path, body }: FuzzRequest, headers: Record<string, string>): Promise<Reply> {
  const response = await fetch(`${url}${path}`, {
    method: String(operation.method),
    headers,
    redirect: 'manual',
    ...(body !== undefined && { body: Buffer.from(body) }),
  })
  return { status: response.status, contentType: response.headers.get('content-type') ?? '', body: await response.text() }
}

function assertResponses({ operation, path, body, sender }: FuzzRequest, { status, contentType, body: answer }: Reply): void {
  const what = `${operation.method} ${path} by ${sender}: ${status} ${answer.slice(0, 300)}`
  assert.ok(status < 500, what)
  const isProtected = operation.operation.security.length > 0
  if (isProtected && STRANGERS.some((stranger) => stranger === sender)) assert.equal(status, 401, what)
  assert.ok(String(status) in operation.responses, `not declared: ${what}`)
  if (status < 400) return
  assert.ok(body === undefined || !answer.includes(ECHO), `echoed: ${what}`)
  if (contentType.startsWith('text/html')) return
  assert.equal(contentType, 'application/json; charset=utf-8', what)
  assertGrammar(status, JSON.parse(answer), what)
}

function assertGrammar(status: number, answer: Record<string, unknown>, what: string): void {
  assert.deepEqual(Object.keys(answer), ['detail'], what)
  if (status !== 422) {
    assert.equal(typeof answer['detail'], 'string', what)
    return
  }
  const issues = answer['detail'] as Record<string, unknown>[]
  assert.ok(Array.isArray(issues) && issues.length > 0, what)
  for (const issue of issues) {
    assert.deepEqual(Object.keys(issue).sort(), ['loc', 'msg', 'type'], what)
    assert.ok(['body', 'query', 'path'].includes(String((issue['loc'] as unknown[])[0])), what)
    assert.ok(typeof issue['msg'] === 'string' && typeof issue['type'] === 'string', what)
  }
}
