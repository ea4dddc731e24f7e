import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Access } from '../../src/http/pipeline/declarations.ts'
import { admin } from '../support/app/actors.ts'
import { startApp } from '../support/app/start-app.ts'
import { API_ROUTES, API_ROUTES_FILE, BODIES, nameOf, urlOf } from '../support/http/api-routes.ts'
import { type ApiDocument, operationsOf, readApiDocument } from '../support/http/openapi.ts'
import { EVERY_ROUTE } from '../support/http/routes.ts'

type Auth = 'None' | 'User' | 'Admin'

/** Section 4 of the specification: method, path, access and success statuses. */
const SPECIFIED: readonly (readonly [string, string, Auth, ...number[]])[] = [
  ['POST', '/register/', 'None', 201],
  ['POST', '/login/', 'None', 200],
  ['POST', '/refresh/', 'None', 200],
  ['GET', '/verify/', 'None', 200],
  ['POST', '/forgot-password/', 'None', 200],
  ['GET', '/reset-password/', 'None', 200, 302],
  ['POST', '/reset-password/', 'None', 200],
  ['GET', '/users/me', 'User', 200],
  ['GET', '/users/', 'Admin', 200],
  ['GET', '/users/search', 'Admin', 200],
  ['PUT', '/users/{user_id}', 'User', 200],
  ['POST', '/users/{user_id}/password', 'User', 204],
  ['POST', '/users/{user_id}/make-admin', 'Admin', 204],
  ['POST', '/users/{user_id}/ban', 'Admin', 204],
  ['POST', '/users/{user_id}/unban', 'Admin', 204],
  ['DELETE', '/users/{user_id}', 'Admin', 204],
  ['GET', '/users/keys', 'User', 200],
  ['POST', '/users/keys', 'User', 200],
  ['GET', '/users/keys/{key_id}', 'User', 200],
  ['PATCH', '/users/keys/{key_id}', 'User', 200],
  ['DELETE', '/users/keys/{key_id}', 'User', 204],
  ['GET', '/users/keys/by-user/{user_id}', 'Admin', 200],
  ['PATCH', '/users/keys/by-user/{user_id}/{key_id}', 'Admin', 200],
  ['DELETE', '/users/keys/by-user/{user_id}/{key_id}', 'Admin', 204],
  ['GET', '/heartbeat', 'None', 200],
  ['GET', '/metrics', 'None', 200],
  ['GET', '/docs', 'None', 200],
  ['GET', '/redoc', 'None', 200],
]

const AUTH: Readonly<Record<Access, Auth>> = { public: 'None', user: 'User', self: 'User', admin: 'Admin' }

/** The endpoints of the specification and those beyond it. */
const EXPECTED = Object.entries(API_ROUTES).map(([route, { access, success }]) =>
  [route.replace(/:(\w+)/g, '{$1}'), AUTH[access], ...[success].flat()].join(' '),
)

function tableOf(apiDocument: ApiDocument): string[] {
  return operationsOf(apiDocument).map(({ method, path, operation }) => {
    const successes = Object.keys(operation.responses).filter((status) => Number(status) < 400)
    const isForAdmins = operation.description?.endsWith('For admins.') === true
    const auth: Auth = operation.security.length === 0 ? 'None' : isForAdmins ? 'Admin' : 'User'
    return [method, path, auth, ...successes].join(' ')
  })
}

test('the document lists every endpoint with its access and success statuses, and no other', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  assert.deepEqual(tableOf(apiDocument).sort(), EXPECTED.toSorted(), `compared with ${API_ROUTES_FILE}`)
  for (const row of SPECIFIED) assert.ok(EXPECTED.includes(row.join(' ')), `${row.join(' ')} is specified`)
})

test('every operation has a unique id, a summary, a description and a tag', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  const tags = apiDocument.tags.map(({ name }) => name)
  const operations = operationsOf(apiDocument)
  for (const { operation } of operations) {
    assert.match(operation.operationId, /^[a-z][a-zA-Z]+$/)
    assert.match(operation.summary, /^[A-Z].*[^.]$/)
    assert.match(operation.description ?? '', /^[A-Z].*\.$/s, operation.operationId)
    assert.equal(operation.tags.length, 1)
    assert.ok(tags.includes(operation.tags[0] ?? ''))
  }
  assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length)
  assert.deepEqual([...new Set(operations.flatMap(({ operation }) => operation.tags))].sort(), [...tags].sort())
})

test('every protected operation accepts both credentials and declares 401, and 403 where access is limited', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  assert.deepEqual(
    Object.values(apiDocument.components.securitySchemes).map(({ type, scheme, name }) => [type, scheme ?? name]),
    [
      ['http', 'bearer'],
      ['apiKey', 'X-API-Key'],
    ],
  )
  for (const { operation } of operationsOf(apiDocument)) {
    if (operation.security.length === 0) continue
    assert.deepEqual(operation.security, [{ jwt: [] }, { apiKey: [] }])
    assert.ok('401' in operation.responses, operation.operationId)
    if (/For (?:the user whom|admins)/.test(operation.description ?? '')) assert.ok('403' in operation.responses, operation.operationId)
  }
})

/** They may answer with a challenge. */
const LOGINS: ReadonlySet<string> = new Set(['login', 'confirmSignInEmail'])

test('every refusal has a schema and an example', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  for (const { operation, responses } of operationsOf(apiDocument)) {
    const refused = Object.entries(responses).filter(([status]) => Number(status) >= 400)
    assert.ok('422' in operation.responses && '500' in operation.responses, operation.operationId)
    for (const [status, { description, content }] of refused) {
      const json = content?.['application/json']
      const other = LOGINS.has(operation.operationId) && status === '401' ? 'LoginRefused' : 'ErrorResponse'
      const schema = status === '422' ? 'ValidationError' : other
      assert.equal(json?.schema.$ref, `#/components/schemas/${schema}`, `${operation.operationId} ${status}`)
      assert.ok(Object.keys(json?.examples ?? {}).length > 0, `${operation.operationId} ${status}`)
      assert.notEqual(description, '')
    }
  }
})

test('every schema has a description, and every field a description and an example', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  for (const [name, { description, properties = {} }] of Object.entries(apiDocument.components.schemas)) {
    assert.ok(description, `${name} has a description`)
    for (const [field, schema] of Object.entries(properties)) {
      const place = `${name}.${field}`
      assert.ok(schema.description, `${place} has a description`)
      assert.ok(
        schema.examples ?? schema.enum ?? schema.const ?? schema.items?.$ref ?? schema.default !== undefined,
        `${place} has an example`,
      )
    }
  }
  for (const { operation } of operationsOf(apiDocument)) {
    for (const { name, description, example } of operation.parameters ?? []) {
      assert.ok(description, `${operation.operationId} ${name} has a description`)
      assert.notEqual(example, undefined)
    }
  }
})

// Which field of a confirmation is missing depends on what the client has, and an empty merge patch changes nothing.
const TAKES_NOTHING = ['POST /users/me/confirm', 'POST /login/email/confirm', 'PATCH /users/me/data', 'PATCH /users/:user_id/data']

test('422: the response to an empty JSON object is the documented example, on every endpoint with a body', async (t) => {
  const service = await startApp(t, { env: EVERY_ROUTE })
  const { headers } = await admin(service)
  const apiDocument = (await service.app.inject('/openapi.json')).json<ApiDocument>()
  const tried: string[] = []
  for (const { method, path, operation, responses } of operationsOf(apiDocument)) {
    if (operation.requestBody?.required !== true || TAKES_NOTHING.includes(nameOf(`${method} ${path}`))) continue
    const response = await service.app.inject({
      method,
      url: urlOf(path),
      headers: { ...headers, 'content-type': 'application/json' },
      payload: '{}',
    })
    assert.equal(response.statusCode, 422)
    assert.deepEqual(response.json(), responses['422']?.content?.['application/json']?.examples?.['missing']?.value)
    tried.push(nameOf(`${method} ${path}`))
  }
  assert.deepEqual([...tried, ...TAKES_NOTHING].sort(), Object.keys(BODIES).sort(), `compared with the bodies of ${API_ROUTES_FILE}`)
})

test('201: the documented example of a registration is accepted', async (t) => {
  const { app } = await startApp(t)
  const apiDocument = (await app.inject('/openapi.json')).json<ApiDocument>()
  const register = operationsOf(apiDocument).find(({ operation }) => operation.operationId === 'register')
  const example = register?.operation.requestBody?.content['application/json']?.example
  const response = await app.inject({ method: 'POST', url: '/register/', payload: example as object })
  assert.equal(response.statusCode, 201)
  assert.deepEqual(Object.keys(response.json()), Object.keys(register?.responses['201']?.content?.['application/json']?.example as object))
})

test('the document contains the title, the version and the URL of the service', async (t) => {
  const { info, servers, openapi } = await readApiDocument(t, { API_TITLE: 'Acme <Accounts>', BASE_URL: 'https://acme.example.org/auth/' })
  assert.equal(openapi, '3.1.1')
  assert.deepEqual([info.title, info.license.identifier], ['Acme <Accounts>', 'MIT'])
  assert.match(info.version, /^\d+\.\d+\.\d+$/)
  assert.deepEqual(servers, [{ url: 'https://acme.example.org/auth' }])
})

test('reset-password documents JSON and both form encodings, and responses in JSON and HTML', async (t) => {
  const apiDocument = await readApiDocument(t, EVERY_ROUTE)
  const reset = operationsOf(apiDocument).find(({ operation }) => operation.operationId === 'resetPassword')
  const kinds = ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data']
  assert.deepEqual(Object.keys(reset?.operation.requestBody?.content ?? {}), kinds)
  for (const status of ['200', '401', '404', '422']) {
    assert.deepEqual(Object.keys(reset?.responses[status]?.content ?? {}), ['application/json', 'text/html'])
  }
})
