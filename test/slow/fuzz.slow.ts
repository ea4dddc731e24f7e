import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import { generateApiKey } from '../../src/security/api-key-secret.ts'
import { statement } from '../../src/storage/database.ts'
import { type Actor, admin, member } from '../support/app/actors.ts'
import { eventually } from '../support/app/eventually.ts'
import { startApp, type TestApp } from '../support/app/start-app.ts'
import { type ContractContext, type DatabaseKind, test } from '../support/databases/databases.ts'
import { type ApiDocument, operationsOf } from '../support/http/openapi.ts'
import { injectPatiently } from '../support/http/patience.ts'
import { ECHO, type FuzzRequest, fuzzRequests, type Sender, STRANGERS } from '../support/load/fuzz-arbitraries.ts'
import { EVERYTHING_ON, fromAnywhere } from '../support/processes/all-settings.ts'
import { scaled } from '../support/processes/scale.ts'
import { WEBHOOK_SECRET } from '../support/servers/webhook-receiver.ts'

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
    ids: { user_id: [String(someone.id), String(banned.id), String(boss.id)], key_id: [id] },
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
  const testApp = await startApp(t, { env: { METRICS_ENABLED: 'true', ...env } })
  const document = (await testApp.app.inject('/openapi.json')).json<ApiDocument>()
  const operations = operationsOf(document)
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
  if (isProtected && STRANGERS.has(sender)) assert.equal(status, 401, what)
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
